public import Domain
import EventLoop
import Postgres

/// A purchase that a person wants to be looked at now.
extension Timers {
  /// What a purchase's timer says, in milliseconds since 1970.
  public struct State: Sendable, Equatable {
    /// When a worker looks at it next; `nil` for a purchase that nobody looks at any more.
    public var dueAt: Int64?
    /// When a worker has looked at it last.
    public var lookedAt: Int64?

    /// Creates a state.
    public init(dueAt: Int64? = nil, lookedAt: Int64? = nil) { (self.dueAt, self.lookedAt) = (dueAt, lookedAt) }
  }

  /// What became of a person's wish.
  public enum Wish: Sendable, Equatable {
    /// The next worker takes it.
    case begun
    /// It was due already.
    case waits
    /// A worker has looked at it less than ``pauseOfWishes`` ago.
    case tooEarly
    /// There is no such purchase.
    case unknown
  }

  /// So much later than a look, a person may ask for the next one: each takes a call of the app's budget.
  public nonisolated static let pauseOfWishes = Duration.seconds(60)

  /// Reads a purchase's timer; `nil` if there is no such purchase.
  ///
  /// - Throws: `PostgresError`.
  public func state(of key: PurchaseKey) async throws -> State? {
    let row = try await postgres.run(PostgresQuery(.readTimer, parameters(key))).first
    return try row.map { State(dueAt: try $0.time("due_at"), lookedAt: try $0.time("looked_at")) }
  }

  /// Lets Apple be asked about a purchase at once, for a person at the console. The wish stays until Apple has
  /// answered.
  ///
  /// - Throws: `PostgresError`.
  public func look(at key: PurchaseKey, by person: String) async throws -> Wish {
    let pause = PostgresParameter.int64(Int64(Self.pauseOfWishes / .milliseconds(1)))
    return try await postgres.transaction { transaction in
      guard let row = try await transaction.query(PostgresQuery(.lockTimer, parameters(key) + [pause])).first else {
        return .unknown
      }
      if try row.bool("is_due") ?? false { return .waits }
      if try row.bool("is_early") ?? false { return .tooEarly }
      _ = try await transaction.query([
        PostgresQuery(.hurryTimer, parameters(key)),
        AuditEntry.insert([.checked(key, by: person)]),
      ])
      return .begun
    }
  }

  private nonisolated func parameters(_ key: PurchaseKey) -> [PostgresParameter] {
    [.id(key.publisherId), .id(key.environment), .id(key.originalTransactionId)]
  }
}

extension PostgresStatement {
  private static let named = "publisher_id = $1 AND environment = $2 AND original_transaction_id = $3"

  fileprivate static let readTimer = PostgresStatement(
    "console: read timer", "SELECT due_at, looked_at FROM purchases WHERE \(named)")

  fileprivate static let lockTimer = PostgresStatement(
    "console: lock timer",
    """
    SELECT coalesce(due_at <= now(), false) AS is_due,
      coalesce(looked_at > now() - $4 * interval '1 millisecond', false) AS is_early
    FROM purchases WHERE \(named) FOR NO KEY UPDATE
    """)

  fileprivate static let hurryTimer = PostgresStatement(
    "console: hurry timer", "UPDATE purchases SET due_at = now(), recheck_at = now() WHERE \(named)")
}
