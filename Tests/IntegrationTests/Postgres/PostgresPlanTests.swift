import EventLoop
import Fleets
import Postgres
import ServerSupport
import Testing

/// Statements that find rows by their keys, and the plans that PostgreSQL keeps for them.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct PostgresPlanTests {
  private let table = "test_\(UInt64.random(in: 0 ... .max))"

  private func find(isByKeys: Bool) -> PostgresQuery {
    let name = isByKeys ? "by keys" : "usual"
    let sql = "SELECT '\(name)' AS name, t.id FROM unnest($1::text[]) AS n (id) JOIN \(table) t USING (id)"
    return PostgresQuery(PostgresStatement(name, isByKeys: isByKeys, sql), [.texts(["7"])])
  }

  /// One connection: plans and settings belong to it.
  private func with(_ body: @LoopActor (PostgresClient) async throws -> Void) async throws {
    try await PostgresTestServer.with(connections: 1) { postgres in
      // Nothing may count the rows meanwhile, so that only the statement's own plan tells.
      let create = "CREATE TABLE \(table) (id text PRIMARY KEY) WITH (autovacuum_enabled = off)"
      _ = try await postgres.run(PostgresQuery(PostgresStatement("create", create)))
      try await body(postgres)
      _ = try await postgres.run(PostgresQuery(PostgresStatement("drop", "DROP TABLE \(table)")))
    }
  }

  /// How often the connection has used a kept plan of a statement, and how often it has planned it anew.
  private func plans(_ name: String, _ postgres: PostgresClient) async throws -> [Int64?] {
    let row = try await postgres.run(
      PostgresQuery(
        PostgresStatement(
          "plans",
          """
          SELECT generic_plans, custom_plans FROM pg_prepared_statements
          WHERE statement LIKE 'SELECT ''' || $1 || ''' AS name%'
          """), [.text(name)]))[0]
    return [row.int64(0), row.int64(1)]
  }

  private func setting(_ name: String, _ postgres: PostgresClient) async throws -> String? {
    try await postgres.run(
      PostgresQuery(PostgresStatement("setting", "SELECT current_setting($1)"), [.text(name)]))[0].text(0)
  }

  @Test func `it is planned once, and others of the connection as ever`() async throws {
    try await with { postgres in
      for _ in 0..<8 {
        #expect(try await postgres.run([find(isByKeys: true)]).count == 1)
        try await postgres.transaction { (transaction) async throws in
          #expect(try await transaction.query([find(isByKeys: true)]).count == 1)
          #expect(try await transaction.commit([find(isByKeys: true)]).count == 1)
        }
        _ = try await postgres.run(find(isByKeys: false))
      }
      let (byKeys, usual) = (try await plans("by keys", postgres), try await plans("usual", postgres))
      #expect(byKeys == [24, 0])
      // PostgreSQL decides by itself from the sixth execution on.
      #expect((usual[1] ?? 0) >= 5)
      #expect(try await setting("plan_cache_mode", postgres) == "auto")
      #expect(try await setting("enable_seqscan", postgres) == "on")
    }
  }

  @Test func `a plan of an empty table uses the index, and finds what comes later`() async throws {
    try await with { postgres in
      #expect(try await postgres.run(find(isByKeys: true)).isEmpty)
      let fill = "INSERT INTO \(table) SELECT number::text FROM generate_series(1, 10000) AS number"
      _ = try await postgres.run(PostgresQuery(PostgresStatement("fill", fill)))
      #expect(try await postgres.run(find(isByKeys: true)).count == 1)
      let names = "SELECT name FROM pg_prepared_statements WHERE statement LIKE 'SELECT ''by keys'' AS name%'"
      let name = try #require(try await postgres.run(PostgresQuery(PostgresStatement("names", names)))[0].text(0))
      let explain = try await postgres.transaction { transaction in
        // The statement itself lets the transaction use the kept plan.
        _ = try await transaction.query(find(isByKeys: true))
        return try await transaction.query(
          PostgresQuery(PostgresStatement("explain", "EXPLAIN (VERBOSE) EXECUTE \"\(name)\" ('{7}')")))
      }
      let lines = try explain.map { try $0.text("QUERY PLAN") ?? "" }
      #expect(lines.contains { $0.contains("\(table)_pkey") } && lines.contains { $0.contains("$1") }, "\(lines)")
    }
  }
}
