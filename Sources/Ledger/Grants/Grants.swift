public import Domain
public import EventLoop
import Formats
import JSON
public import Postgres

/// The access that publishers' people give by hand. Each change is one commit with its events and its row of the audit
/// log.
///
/// Every method throws `PostgresError`, or `UnreadableRecord` for a row that this code cannot read. A change may be
/// asked for again after any failure.
@LoopActor
public struct Grants {
  private let postgres: PostgresClient

  /// Creates the grants of a ledger.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// What became of a request, with the events to publish.
  public struct Answer: ~Copyable {
    public let grant: Grant
    /// Whether this request made the change. A repeated one finds it made.
    public let isNew: Bool
    private let told: Told

    fileprivate init(_ grant: Grant, isNew: Bool, _ events: [Event] = []) {
      (self.grant, self.isNew) = (grant, isNew)
      told = Told(events)
    }

    /// Gives out the events for the outlet.
    public consuming func takeTold() -> Told { told }
  }

  private struct Change {
    let grant: Grant
    var isNew = false
    var events: [Event] = []
  }

  /// Gives a customer a grant. Whoever sends the same grant again, gets the first one.
  ///
  /// - Parameters:
  ///   - grant: as the caller wants it, created now.
  ///   - publisher: the customer's, with its present rules.
  ///   - person: who gives it at the console; `nil` for a token's request.
  /// - Returns: `nil` if the publisher has no such customer, and puts its customers first.
  /// - Throws: `GrantRefusal` besides, and then nothing has changed.
  public func give(
    _ grant: Grant, publisher: Publisher, limits: GrantLimits, by person: String? = nil, traceparent: String? = nil
  ) async throws -> Answer? {
    let reading = CustomerReading(customer: grant.customer, grant: grant.id)
    let change = try await postgres.repeatingConflicts { transaction -> Change? in
      let found = try reading.read(try await transaction.query(reading.queries), now: grant.createdAt)
      if let known = found.grant {
        guard known.isSameWish(as: grant) else { throw GrantRefusal.idInUse }
        return Change(grant: known)
      }
      var state = found.state
      guard publisher.customers == .open || state.customers[grant.customer]?.isKnown == true else { return nil }
      try state.give(grant, limits: limits, publisher: publisher, traceparent: traceparent)
      // The last lock, and held for one trip only: all of a publisher's grants wait for it.
      let counted = try await transaction.query(
        PostgresQuery(.countGrant, [.id(publisher.id), .int64(Int64(limits.perDay))]))
      guard !counted.isEmpty else { throw GrantRefusal.perDay }
      _ = try await transaction.commit(
        Self.writing(state, publisher) + [
          PostgresQuery(GrantRow.insert, GrantRow.table.parameters([GrantRow(grant: grant)])),
          AuditEntry.insert([.grant("customer.granted", grant, by: person)]),
        ])
      return Change(grant: grant, isNew: true, events: state.changes.events)
    }
    return change.map { Answer($0.grant, isNew: $0.isNew, $0.events) }
  }

  /// Brings a grant from another fleet. Whoever brings it again, changes nothing.
  ///
  /// - Parameters:
  ///   - isTold: whether the entitlements that it changes are told.
  ///   - publisher: the customer's, with its present rules.
  ///   - person: who runs the import; `nil` for a publisher's token.
  ///   - now: milliseconds since 1970.
  /// - Throws: `GrantRefusal` besides, and then nothing has changed.
  public func bring(
    _ grant: Grant, isTold: Bool, publisher: Publisher, by person: String? = nil, now: Int64
  ) async throws -> Answer {
    let reading = CustomerReading(customer: grant.customer, grant: grant.id)
    let change = try await postgres.repeatingConflicts { transaction -> Change in
      let found = try reading.read(try await transaction.query(reading.queries), now: now)
      if let known = found.grant {
        guard known.isSameWish(as: grant) else { throw GrantRefusal.idInUse }
        return Change(grant: known)
      }
      var state = found.state
      try state.bring(grant, isTold: isTold, publisher: publisher)
      _ = try await transaction.commit(
        Self.writing(state, publisher) + [
          PostgresQuery(GrantRow.insert, GrantRow.table.parameters([GrantRow(grant: grant)])),
          AuditEntry.insert([.grant("customer.granted", grant, by: person)]),
        ])
      return Change(grant: grant, isNew: true, events: state.changes.events)
    }
    return Answer(change.grant, isNew: change.isNew, change.events)
  }

  /// Ends a customer's grant before its time. If it is over or withdrawn, nothing changes.
  ///
  /// - Parameters:
  ///   - person: who withdraws it at the console; `nil` for a token's request.
  ///   - now: milliseconds since 1970.
  /// - Returns: `nil` if the customer has no grant with the id.
  public func withdraw(
    _ id: GrantId, of customer: CustomerKey, publisher: Publisher, by person: String? = nil, now: Int64,
    traceparent: String? = nil
  ) async throws -> Answer? {
    let reading = CustomerReading(customer: customer, grant: id)
    let change = try await postgres.repeatingConflicts { transaction -> Change? in
      let found = try reading.read(try await transaction.query(reading.queries), now: now)
      guard let grant = found.grant, grant.customer == customer else { return nil }
      var state = found.state
      guard let withdrawn = state.withdraw(id, of: customer, publisher: publisher, traceparent: traceparent) else {
        return Change(grant: grant)
      }
      _ = try await transaction.commit(
        Self.writing(state, publisher) + [
          Self.ending([withdrawn]), AuditEntry.insert([.grant("customer.grantWithdrawn", withdrawn, by: person)]),
        ])
      return Change(grant: withdrawn, isNew: true, events: state.changes.events)
    }
    return change.map { Answer($0.grant, isNew: $0.isNew, $0.events) }
  }

  /// Tells the end of what is over.
  ///
  /// - Parameter due: a grant that ``AccessTimers`` gave out. By the ledger's clock it is over, so it is by any.
  /// - Returns: the events to publish; `nil` if it was noted or withdrawn before.
  public func end(_ due: Grant, publisher: Publisher, now: Int64) async throws -> Told? {
    let reading = CustomerReading(customer: due.customer)
    let events = try await postgres.repeatingConflicts { transaction -> [Event]? in
      let found = try reading.read(try await transaction.query(reading.queries), now: max(now, due.endsAt))
      var state = found.state
      let ended = state.endGrants(of: due.customer, publisher: publisher)
      guard !ended.isEmpty else { return nil }
      _ = try await transaction.commit(Self.writing(state, publisher) + [Self.ending(ended)])
      return state.changes.events
    }
    return events.map { Told($0) }
  }

  /// Where a page of a list ends.
  public struct Place: Sendable, Equatable {
    /// Milliseconds since 1970.
    public let createdAt: Int64
    public let id: GrantId

    /// Creates a place.
    public init(createdAt: Int64, id: GrantId) { (self.createdAt, self.id) = (createdAt, id) }
  }

  /// Reads a page of a customer's grants, the newest first, including ended ones.
  ///
  /// - Parameter place: where the page before it ended; `nil` for the first page.
  public func list(_ customer: CustomerKey, after place: Place? = nil, limit: Int) async throws -> [Grant] {
    let rows = try await postgres.run(
      PostgresQuery(
        .listGrants,
        [
          .id(customer.publisherId), .id(customer.id), .time(place?.createdAt ?? .max), .id(place?.id ?? ""),
          .int64(Int64(limit)),
        ]))
    return try GrantRow.table.records(rows).map(\.grant)
  }

  private static func writing(_ state: CommitState, _ publisher: Publisher) -> [PostgresQuery] {
    CommitWriting(state, audience: publisher.audience).queries
  }

  private static func ending(_ grants: [Grant]) -> PostgresQuery {
    let rows = grants.sorted { $0.id < $1.id }.map { GrantRow(grant: $0) }
    return PostgresQuery(GrantRow.end, GrantRow.ends.parameters(rows))
  }
}

extension AuditEntry {
  /// A change of a grant. The note is not part of it: it may tell about the customer.
  ///
  /// - Parameter person: who made it at the console; `nil` for a publisher's token.
  static func grant(_ action: String, _ grant: Grant, by person: String?) -> AuditEntry {
    let (publisher, subject) = (grant.customer.publisherId, grant.customer.id.text)
    let detail = JSONWriter.object { detail in
      detail.time("expiresAt", grant.endsAt)
      detail.member("grantId", grant.id)
      detail.member("offerId", grant.offerId)
      detail.member("reason", grant.reason.rawValue)
    }
    return AuditEntry(publisherId: publisher, by: person, action: action, subject: subject, detail: detail)
  }
}

extension PostgresStatement {
  /// One row a publisher, so nothing must be tidied up. A commit that waited over midnight does not turn the day back.
  fileprivate static let countGrant = PostgresStatement(
    "count a grant of the day",
    """
    INSERT INTO grant_days AS d (publisher_id, day, count) VALUES ($1, (now() AT TIME ZONE 'UTC')::date, 1)
    ON CONFLICT (publisher_id) DO UPDATE SET day = greatest(d.day, excluded.day),
      count = CASE WHEN d.day < excluded.day THEN 1 ELSE d.count + 1 END
    WHERE d.day < excluded.day OR d.count < $2
    RETURNING count
    """)

  fileprivate static let listGrants = PostgresStatement(
    "list grants",
    """
    SELECT \(GrantRow.table.selected("g")) FROM grants g
    WHERE g.publisher_id = $1 AND g.customer_id = $2
      AND (g.created_at < $3 OR g.created_at = $3 AND g.id > $4)
    ORDER BY g.created_at DESC, g.id LIMIT $5
    """)
}
