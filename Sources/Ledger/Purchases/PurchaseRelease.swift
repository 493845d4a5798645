public import Domain
public import EventLoop
public import Postgres

/// Takes a purchase from its owner, in one commit with the events and the audit row about it.
@LoopActor
public struct PurchaseRelease {
  private let postgres: PostgresClient

  /// Creates a release.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// What became of a request, with the events to publish.
  public struct Answer: ~Copyable {
    /// Whether this request took the purchase from its owner.
    public let isReleased: Bool
    private let told: Told

    fileprivate init(isReleased: Bool, _ events: [Event]) {
      self.isReleased = isReleased
      told = Told(events)
    }

    /// Gives out the events for the outlet.
    public consuming func takeTold() -> Told { told }
  }

  /// Releases a purchase. If nobody owns it, nothing changes.
  ///
  /// - Parameters:
  ///   - publisher: the purchase's, with its present rules.
  ///   - subscriptionId: the period of ownership that ends. If the purchase has another one by now, nothing changes: a
  ///     repeated request does not take the purchase from its next owner.
  ///   - person: who does it at the console; `nil` for a publisher's token.
  ///   - now: milliseconds since 1970.
  /// - Returns: `nil` if there is no such purchase.
  /// - Throws: `PostgresError`. It may run again after any failure.
  public func release(
    _ key: PurchaseKey, publisher: Publisher, subscriptionId: Int64? = nil, by person: String? = nil, now: Int64,
    traceparent: String? = nil
  ) async throws -> Answer? {
    let reading = OwnerReading(key: key)
    let change = try await postgres.repeatingConflicts { transaction -> (isReleased: Bool, events: [Event])? in
      guard var state = try reading.read(try await transaction.query(reading.queries), now: now) else { return nil }
      if let subscriptionId, state.purchases[key]?.owner?.subscriptionId != subscriptionId { return (false, []) }
      guard let owner = state.release(key, publisher: publisher, traceparent: traceparent) else {
        return (false, [])
      }
      let writing = CommitWriting(state, audience: publisher.audience)
      let audit = AuditEntry.owner(
        "purchase.released", of: key, subscriptionId: owner.subscriptionId, by: .publisher, operator: person)
      _ = try await transaction.commit(writing.queries + [AuditEntry.insert([audit])])
      return (true, state.changes.events)
    }
    return change.map { Answer(isReleased: $0.isReleased, $0.events) }
  }
}
