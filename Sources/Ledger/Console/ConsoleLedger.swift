import EventLoop
public import Postgres

/// What the console says about the ledger itself.
public enum ConsoleLedger {
  /// Reads the size of the database, in bytes: PostgreSQL looks at its files, and at no row.
  ///
  /// - Throws: `PostgresError`.
  @LoopActor
  public static func size(within time: Duration, _ postgres: PostgresClient) async throws -> Int64? {
    try await postgres.limited(to: time, [PostgresQuery(.readConsoleSize)]).first?.first?.int64("bytes")
  }
}

extension PostgresStatement {
  fileprivate static let readConsoleSize = PostgresStatement(
    "console: read size of ledger", "SELECT pg_database_size(current_database()) AS bytes")
}
