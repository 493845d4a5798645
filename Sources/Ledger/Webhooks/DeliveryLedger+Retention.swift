import EventLoop
import Postgres

extension DeliveryLedger {
  /// What ``keepLog(for:)`` did, as numbers of days.
  public struct LogKeeping: Sendable, Equatable {
    /// They have a partition now.
    public var created = 0
    /// Their attempts are gone.
    public var dropped = 0

    /// Whether there was nothing to do.
    public var isEmpty: Bool { self == LogKeeping() }
  }

  /// Names the advisory lock of ``keepLog(for:)``.
  package static let lock: Int64 = 0x0061_7474_656d_7074

  /// Makes the partitions of the next days, and drops days whose attempts are too old.
  ///
  /// - Parameter retention: how long attempts stay, at least. A day goes as a whole.
  /// - Returns: `nil` when another notifier does this now.
  public func keepLog(for retention: Duration) async throws -> LogKeeping? {
    let days = Int64((retention.inSeconds / 86_400).rounded(.up))
    return try await postgres.transaction { transaction -> LogKeeping? in
      let rows = try await transaction.query([
        PostgresQuery(.tryLock, [.int64(Self.lock)]), PostgresQuery(.readPartitions),
      ])
      guard try rows[0].first?.bool("is_locked") ?? false else { return nil }
      let today = try rows[1].first?.int64("today") ?? 0
      let plan = AttemptPartitions(
        today: today, existing: try rows[1].compactMap { try $0.text("name") }, retention: days)
      // Each statement has its own name, because PostgreSQL takes no parameters in them.
      let queries =
        plan.missing.flatMap(Self.creation)
        + plan.old.map { name in
          PostgresQuery(PostgresStatement("drop \(name)", "DROP TABLE \(name)"))
        }
      if !queries.isEmpty { _ = try await transaction.query(queries) }
      return LogKeeping(created: plan.missing.count, dropped: plan.old.count)
    }
  }

  /// A table of its own is attached in a moment. A table that begins as a partition would lock out every writer.
  private static func creation(_ day: Int64) -> [PostgresQuery] {
    let name = AttemptPartitions.name(day)
    return [
      PostgresQuery(
        PostgresStatement(
          "create \(name)",
          "CREATE TABLE \(name) (LIKE attempts INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMPRESSION)")),
      PostgresQuery(
        PostgresStatement(
          "attach \(name)",
          """
          ALTER TABLE attempts ATTACH PARTITION \(name)
          FOR VALUES FROM ('\(AttemptPartitions.start(day))') TO ('\(AttemptPartitions.start(day + 1))')
          """)),
    ]
  }
}

extension PostgresStatement {
  fileprivate static let tryLock = PostgresStatement(
    "try to lock the log", "SELECT pg_try_advisory_xact_lock($1) AS is_locked")

  /// The day of the ledger's clock, and the partitions. There is one row at least.
  fileprivate static let readPartitions = PostgresStatement(
    "read partitions",
    """
    SELECT (now() AT TIME ZONE 'UTC')::date - date '1970-01-01' AS today, partition.relname::text AS name
    FROM pg_class AS log
    LEFT JOIN pg_inherits ON inhparent = log.oid
    LEFT JOIN pg_class AS partition ON partition.oid = inhrelid
    WHERE log.oid = 'attempts'::regclass
    """)
}
