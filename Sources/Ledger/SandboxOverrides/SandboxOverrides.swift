public import Domain
public import EventLoop
import JSON
public import Postgres

/// The customers whose purchases from the sandbox give access until a date. Each change is one commit with its events
/// and its row of the audit log.
///
/// Every method throws `PostgresError`, or `UnreadableRecord` for a row that this code cannot read. A change may be
/// asked for again after any failure.
@LoopActor
public struct SandboxOverrides {
  private let postgres: PostgresClient

  /// Creates the overrides of a ledger.
  public init(_ postgres: PostgresClient) { self.postgres = postgres }

  /// What became of a request, with the events to publish.
  public struct Answer: ~Copyable {
    public let override: SandboxOverride
    /// What this request changed. A repeated one finds it changed.
    public let change: Change
    private let told: Told

    fileprivate init(_ override: SandboxOverride, _ change: Change, _ events: [Event]) {
      (self.override, self.change) = (override, change)
      told = Told(events)
    }

    /// Gives out the events for the outlet.
    public consuming func takeTold() -> Told { told }
  }

  /// What a request changed.
  public enum Change: Sendable, Equatable {
    case nothing
    /// The customer had no override that was in force.
    case begun
    case replaced
    case withdrawn
  }

  private struct Made {
    var override: SandboxOverride
    var change = Change.nothing
    var events: [Event] = []
  }

  /// Sets a customer's override. Whoever sends the same one again while it is in force, changes nothing.
  ///
  /// - Parameters:
  ///   - wish: as the caller wants it, set now.
  ///   - publisher: the customer's, with its present rules.
  ///   - person: who sets it at the console; `nil` for a token's request.
  /// - Returns: `nil` if the publisher has no such customer, and puts its customers first.
  /// - Throws: `SandboxOverrideRefusal` besides, and then nothing has changed.
  public func put(
    _ wish: SandboxOverride, publisher: Publisher, limits: SandboxOverrideLimits = SandboxOverrideLimits(),
    by person: String? = nil, traceparent: String? = nil
  ) async throws -> Answer? {
    let entry = AuditEntry.sandboxAccess("customer.sandboxAccessSet", wish, by: person)
    let reading = CustomerReading(customer: wish.customer)
    let made = try await postgres.repeatingConflicts { transaction -> Made? in
      let found = try reading.read(try await transaction.query(reading.queries), now: wish.setAt)
      let present = found.override.flatMap { $0.state(at: wish.setAt) == .open ? $0 : nil }
      if let present, present.isSameWish(as: wish) { return Made(override: present) }
      var state = found.state
      guard publisher.customers == .open || state.customers[wish.customer]?.isKnown == true else { return nil }
      try state.allowSandbox(wish, limits: limits, publisher: publisher, traceparent: traceparent)
      if present == nil { try await Self.requirePlace(for: wish.customer, limits, transaction) }
      let set = try await Self.commit(wish, state, publisher, entry, transaction)
      return Made(override: set, change: present == nil ? .begun : .replaced, events: state.changes.events)
    }
    return made.map { Answer($0.override, $0.change, $0.events) }
  }

  /// Brings a customer's override from another fleet. What stands here stays: the same one, whatever became of it
  /// since, and another one that is in force or was set later.
  ///
  /// - Parameters:
  ///   - wish: as it is there.
  ///   - isTold: whether the entitlements that it changes are told.
  ///   - publisher: the customer's, with its present rules.
  ///   - person: who runs the import; `nil` for a publisher's token.
  ///   - now: milliseconds since 1970.
  /// - Returns: the override that stands now. If it is another one, the change is ``Change/nothing``.
  /// - Throws: `SandboxOverrideRefusal` besides, and then nothing has changed.
  public func bring(
    _ wish: SandboxOverride, isTold: Bool, publisher: Publisher,
    limits: SandboxOverrideLimits = SandboxOverrideLimits(), by person: String? = nil, now: Int64
  ) async throws -> Answer {
    let entry = AuditEntry.sandboxAccess("customer.sandboxAccessSet", wish, by: person)
    let reading = CustomerReading(customer: wish.customer)
    let made = try await postgres.repeatingConflicts { transaction -> Made in
      let found = try reading.read(try await transaction.query(reading.queries), now: now)
      if let known = found.override,
        known.isSameWish(as: wish) || known.state(at: now) == .open || known.setAt >= wish.setAt
      {
        return Made(override: known)
      }
      var state = found.state
      try state.bringSandbox(wish, isTold: isTold, limits: limits, publisher: publisher)
      try await Self.requirePlace(for: wish.customer, limits, transaction)
      var brought = wish
      brought.setAt = min(wish.setAt, now)
      let set = try await Self.commit(brought, state, publisher, entry, transaction)
      return Made(override: set, change: .begun, events: state.changes.events)
    }
    return Answer(made.override, made.change, made.events)
  }

  /// Refuses one more customer, if the publisher has as many with an override as it may have. The lock is the last one,
  /// and held for one trip only.
  private static func requirePlace(
    for customer: CustomerKey, _ limits: SandboxOverrideLimits, _ transaction: PostgresTransaction
  ) async throws {
    let rows = try await transaction.query([
      PostgresQuery(.lockOverrides, [.int64(AdvisoryLock.key("sandbox access of \(customer.publisherId)"))]),
      PostgresQuery(.countOverrides, [.id(customer.publisherId), .id(customer.id)]),
    ])
    guard try rows[1].first?.int64("count") ?? 0 < Int64(limits.customers) else {
      throw SandboxOverrideRefusal.tooMany
    }
  }

  /// Writes an override, with who sets it.
  private static func commit(
    _ wish: SandboxOverride, _ state: CommitState, _ publisher: Publisher, _ entry: AuditEntry,
    _ transaction: PostgresTransaction
  ) async throws -> SandboxOverride {
    var set = wish
    set.setBy = entry.column
    _ = try await transaction.commit(
      writing(state, publisher) + [
        PostgresQuery(
          SandboxOverrideRow.put, SandboxOverrideRow.table.parameters([SandboxOverrideRow(override: set)])),
        AuditEntry.insert([entry]),
      ])
    return set
  }

  /// Ends a customer's override before its time. If it is over or withdrawn, nothing changes.
  ///
  /// - Parameters:
  ///   - person: who withdraws it at the console; `nil` for a token's request.
  ///   - now: milliseconds since 1970.
  /// - Returns: `nil` if the customer has never had one.
  public func withdraw(
    of customer: CustomerKey, publisher: Publisher, by person: String? = nil, now: Int64, traceparent: String? = nil
  ) async throws -> Answer? {
    let reading = CustomerReading(customer: customer)
    let made = try await postgres.repeatingConflicts { transaction -> Made? in
      let found = try reading.read(try await transaction.query(reading.queries), now: now)
      guard let override = found.override else { return nil }
      var state = found.state
      guard let withdrawn = state.withdrawSandbox(override, publisher: publisher, traceparent: traceparent) else {
        return Made(override: override)
      }
      let entry = AuditEntry.sandboxAccess("customer.sandboxAccessWithdrawn", withdrawn, by: person)
      _ = try await transaction.commit(
        Self.writing(state, publisher) + [Self.ending(withdrawn), AuditEntry.insert([entry])])
      return Made(override: withdrawn, change: .withdrawn, events: state.changes.events)
    }
    return made.map { Answer($0.override, $0.change, $0.events) }
  }

  /// Tells the end of an override that is over.
  ///
  /// - Parameter due: one that ``AccessTimers`` gave out. By the ledger's clock it is over, so it is by any.
  /// - Returns: the events to publish; `nil` if it was noted or withdrawn before, or another one took its place.
  public func end(_ due: SandboxOverride, publisher: Publisher, now: Int64) async throws -> Told? {
    let reading = CustomerReading(customer: due.customer)
    let events = try await postgres.repeatingConflicts { transaction -> [Event]? in
      let found = try reading.read(try await transaction.query(reading.queries), now: max(now, due.endsAt))
      var state = found.state
      guard let override = found.override, let ended = state.endSandbox(override, publisher: publisher) else {
        return nil
      }
      _ = try await transaction.commit(Self.writing(state, publisher) + [Self.ending(ended)])
      return state.changes.events
    }
    return events.map { Told($0) }
  }

  /// Reads a customer's last override, also one that is over; `nil` if there was none.
  public func last(of customer: CustomerKey) async throws -> SandboxOverride? {
    let rows = try await postgres.run(
      PostgresQuery(.readOverride, [.id(customer.publisherId), .id(customer.id)]))
    return try SandboxOverrideRow.table.records(rows).first?.override
  }

  private static func writing(_ state: CommitState, _ publisher: Publisher) -> [PostgresQuery] {
    CommitWriting(state, audience: publisher.audience).queries
  }

  private static func ending(_ override: SandboxOverride) -> PostgresQuery {
    PostgresQuery(
      SandboxOverrideRow.end, SandboxOverrideRow.ends.parameters([SandboxOverrideRow(override: override)]))
  }
}

extension AuditEntry {
  /// A change of a customer's override. The note is not part of it: it may tell about the customer.
  ///
  /// - Parameter person: who made it at the console; `nil` for a publisher's token.
  static func sandboxAccess(_ action: String, _ override: SandboxOverride, by person: String?) -> AuditEntry {
    let (publisher, subject) = (override.customer.publisherId, override.customer.id.text)
    let detail = JSONWriter.object { detail in
      detail.member("reason", override.reason.rawValue)
      detail.time("until", override.endsAt)
    }
    return AuditEntry(publisherId: publisher, by: person, action: action, subject: subject, detail: detail)
  }
}

extension PostgresStatement {
  static let readOverride = PostgresStatement(
    "read sandbox access",
    """
    SELECT \(SandboxOverrideRow.table.selected("s")) FROM sandbox_access s WHERE s.publisher_id = $1 AND s.customer_id = $2
    """)

  fileprivate static let lockOverrides = PostgresStatement(
    "lock sandbox access of a publisher", "SELECT pg_advisory_xact_lock($1)")

  /// The others. The customer's own row may be over by the time, and not yet told.
  fileprivate static let countOverrides = PostgresStatement(
    "count sandbox access of a publisher",
    "SELECT count(*) AS count FROM sandbox_access WHERE publisher_id = $1 AND due_at IS NOT NULL AND customer_id <> $2")
}
