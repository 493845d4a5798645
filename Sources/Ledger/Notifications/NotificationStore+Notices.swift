public import Domain
import Formats
import Postgres

extension NotificationStore {
  /// What a commit about notifications without a purchase has done.
  public struct Finished: ~Copyable, Sendable {
    /// The notifications with events. Somebody may have finished others before: they tell nothing again.
    public let told: Int
    /// The notifications without events.
    public let stored: Int
    /// The notices that more customers have the download of than ``mostCustomers``: the others have no event.
    public let cut: [NotificationNotice]
    private let events: Told

    package init(events: [Event] = [], told: Int = 0, stored: Int = 0, cut: [NotificationNotice] = []) {
      self.events = Told(events)
      (self.told, self.stored, self.cut) = (told, stored, cut)
    }

    /// Gives out the events for the outlet.
    public consuming func takeTold() -> Told { events }
  }

  /// Notes that notifications are done that are about no purchase, and writes the events of their notices in the same
  /// commit. A notice that is no news any more tells nothing.
  ///
  /// - Parameters:
  ///   - notices: what some of the notifications tell.
  ///   - audience: whom the events are told.
  /// - Throws: `PostgresError`.
  public func finish(
    _ keys: [NotificationKey], telling notices: [NotificationNotice], audience: EventAudience, now: Int64,
    traceparent: String?
  ) async throws -> Finished {
    let notices = notices.filter { $0.isNews(at: now) }
    guard !notices.isEmpty else { return Finished(stored: try await finish(keys, now: now)) }
    let (events, told, stored, cut) = try await postgres.repeatingConflicts { transaction in
      let rows = keys.map { key in
        CommitState.AppliedNotification(
          publisherId: key.publisherId, uuid: key.uuid, isNews: notices.contains { $0.key == key })
      }
      let applied = try await transaction.query([
        PostgresQuery(NotificationRow.apply, NotificationRow.applied(rows, now))
      ])[0]
      let open = Set(try applied.map(NotificationKey.init))
      var (events, cut): ([Event], [NotificationNotice]) = ([], [])
      for notice in notices where open.contains(notice.key) {
        let customers = try await Self.customers(of: notice, in: transaction)
        if customers.count > Self.mostCustomers { cut.append(notice) }
        events += Event.all(
          of: notice, customers: Array(customers.prefix(Self.mostCustomers)), time: now, traceparent: traceparent)
      }
      _ = try await transaction.commit(events.isEmpty ? [] : Event.tell(events, audience: audience))
      let told = notices.count { open.contains($0.key) }
      return (events, told, open.count - told, cut)
    }
    return Finished(events: events, told: told, stored: stored, cut: cut)
  }

  /// A download has one customer as a rule. Only tests in the sandbox give its purchases to many.
  public nonisolated static let mostCustomers = 100

  /// The customers who own a purchase of the download, and one more than are told if there are too many. They are
  /// locked: an erasure must find their events.
  private static func customers(
    of notice: NotificationNotice, in transaction: PostgresTransaction
  ) async throws -> [CustomerId] {
    guard let id = notice.appTransactionId else { return [] }
    return try await transaction.query([
      PostgresQuery(
        .lockCustomersOfDownload,
        [
          .id(notice.publisherId), .id(notice.environment), .id(id), .int64(Int64(Self.mostCustomers + 1)),
        ])
    ])[0].compactMap { try $0.id("id") }
  }
}

extension NotificationNotice {
  /// The notification that told it.
  var key: NotificationKey { NotificationKey(publisherId: publisherId, uuid: uuid) }
}

extension PostgresStatement {
  fileprivate static let lockCustomersOfDownload = PostgresStatement(
    "lock customers of a download",
    """
    SELECT c.id FROM customers c WHERE c.publisher_id = $1 AND c.id IN (
      SELECT p.customer_id FROM transactions t JOIN purchases p USING (publisher_id, environment, original_transaction_id)
      WHERE t.publisher_id = $1 AND t.environment = $2 AND t.app_transaction_id = $3)
    ORDER BY c.id LIMIT $4 FOR SHARE
    """)
}
