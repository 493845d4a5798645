import Crypto
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import TestSupport

extension LedgerDatabase {
  /// Creates a database with the schema of this build, and runs a body with a client of two connections.
  static func migrated(_ body: @LoopActor (PostgresClient) async throws -> Void) async throws {
    try await with(isMigrated: true) { endpoint in try await client(endpoint, connections: 2, body) }
  }
}

extension PostgresClient {
  /// Runs one statement without parameters. PostgreSQL knows a prepared statement by 63 bytes of its name only.
  @discardableResult
  func execute(_ sql: String) async throws -> PostgresRows {
    let name = Hex.encode(SHA256.hash(Array(sql.utf8))[..<16])
    return try await run(PostgresQuery(PostgresStatement(name, sql)))
  }

  /// The first column of a query's rows as text.
  func texts(_ sql: String) async throws -> [String] { try await execute(sql).map { $0.text(0) ?? "null" } }
}
