public import EventLoop
import Ledger
import Postgres
import TestSupport

/// Databases of tests. A process of its own for each would take a third of the processor time of a short test.
@LoopActor
extension TestServers {
  /// Creates an empty database in the ledger's server.
  public func createDatabase(_ name: String) async throws { try await create(name, from: nil) }

  /// Creates a database with the schema of this build: a copy of one that is migrated once.
  public func createLedger(_ name: String) async throws {
    do {
      try await create(name, from: template())
    } catch let error as PostgresError where error.isMissingDatabase {
      // A test has started the server anew, without its data.
      Self.template = nil
      try await create(name, from: template())
    }
  }

  /// Deletes a database, also while somebody uses it.
  public func dropDatabase(_ name: String) async throws {
    // As the superuser: an autovacuum may be at work in it, which is not the owner's.
    try await query("DROP DATABASE IF EXISTS \"\(name)\" WITH (FORCE)", as: "postgres")
  }

  /// Makes the template of all ledgers, once; others wait for it meanwhile.
  private static var template: Task<String, any Error>?

  private func template() async throws -> String {
    if let template = Self.template { return try await template.value }
    let making = Task {
      let name = "template-\(UInt64.random(in: 0...UInt64.max))"
      try await create(name, from: nil)
      try await withClient(name) { try await Migration($0) { _ in }.run() }
      return name
    }
    Self.template = making
    do {
      return try await making.value
    } catch {
      Self.template = nil
      throw error
    }
  }

  private func create(_ name: String, from template: String?) async throws {
    let source = template.map { " TEMPLATE \"\($0)\"" } ?? ""
    let place = Self.isLedgerConfined ? " TABLESPACE small" : ""
    try await query("CREATE DATABASE \"\(name)\"\(source)\(place)")
  }

  private func query(_ statement: String, as user: String? = nil) async throws {
    // A statement's name is short, and each text has its own.
    let query = PostgresQuery(PostgresStatement("test \(statement.hashValue)", statement))
    _ = try await withClient("postgres", as: user) { try await $0.run(query) }
  }

  private func withClient<Result>(
    _ database: String, as user: String? = nil, _ body: @LoopActor (PostgresClient) async throws -> Result
  ) async throws -> Result {
    var endpoint = try PostgresEndpoint(url: ledgerURL(database: database), password: nil, caFile: nil)
    if let user { endpoint.user = user }
    // All tests share one loop and few cores: a caller that waits for its turn has not met a failed server.
    (endpoint.connectTimeout, endpoint.replyTimeout, endpoint.lockTimeout) = (.patience, .patience, .patience)
    return try await PostgresClient.running(endpoint, body)
  }
}

extension PostgresError {
  /// Whether the server has no database with the name.
  fileprivate var isMissingDatabase: Bool { if case .server(sqlState: "3D000") = code { true } else { false } }
}
