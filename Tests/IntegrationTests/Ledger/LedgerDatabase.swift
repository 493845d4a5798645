import EventLoop
import Fleets
import Postgres
import TestSupport

/// A database of its own for one test.
@LoopActor
enum LedgerDatabase {
  /// Creates a database, runs a body, and deletes the database, also when the body throws.
  ///
  /// - Parameter isMigrated: whether it has the schema of this build; otherwise it is empty.
  static func with(
    isMigrated: Bool = false, _ body: @LoopActor (PostgresEndpoint) async throws -> Void
  ) async throws {
    let servers = TestServers.current!
    let name = "test-\(UInt64.random(in: 0...UInt64.max))"
    try await isMigrated ? servers.createLedger(name) : servers.createDatabase(name)
    do {
      try await body(endpoint(servers.ledgerURL(database: name)))
    } catch {
      try await servers.dropDatabase(name)
      throw error
    }
    try await servers.dropDatabase(name)
  }

  /// An endpoint with the limits of the tests.
  static func endpoint(_ url: String) throws -> PostgresEndpoint {
    try PostgresEndpoint(url: url, password: nil, caFile: nil).patient
  }

  /// Starts a client, waits until it is ready, runs a body, and stops the client.
  static func client<R>(
    _ endpoint: PostgresEndpoint, connections: Int = 1, _ body: @LoopActor (PostgresClient) async throws -> R
  ) async throws -> R {
    try await PostgresClient.running(endpoint, connections: connections, body)
  }
}

extension PostgresClient {
  /// Runs one statement without parameters. Its hash is its name, since a name is short.
  @discardableResult
  func run(_ sql: String) async throws -> PostgresRows {
    try await run(PostgresQuery(PostgresStatement("test \(sql.hashValue)", sql)))
  }
}
