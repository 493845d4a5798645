import EventLoop
import Fleets
import FoundationEssentials
import Glibc
import Postgres
import ServerSupport
import TestSupport
import Testing

@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct PostgresRecoveryTests {
  private let table = "test_\(UInt64.random(in: 0 ... .max))"
  private var all: PostgresQuery { PostgresQuery(PostgresStatement("all", "SELECT * FROM \(table)")) }

  private func withTable(
    _ body: @LoopActor (PostgresClient, @LoopActor (String) async throws -> Void) async throws -> Void
  ) async throws {
    try await PostgresTestServer.with(connections: 1) { postgres in
      @LoopActor @Sendable func execute(_ sql: String) async throws { _ = try await postgres.run(PostgresQuery(sql)) }
      try await execute("CREATE TABLE \(table) AS SELECT 1 AS a")
      try await body(postgres, execute)
      try await execute("DROP TABLE \(table)")
    }
  }

  @Test func `a new column makes no trip fail`() async throws {
    try await withTable { postgres, execute in
      let value1 = try await postgres.run(all)[0].int32(0)
      #expect(value1 == 1)
      try await execute("ALTER TABLE \(table) ADD b int DEFAULT 2")
      let trips = (0..<10).map { _ in Task { @LoopActor in try await postgres.run([all, all])[1][0].int32(1) } }
      for trip in trips {
        let value = try await trip.value
        #expect(value == 2)
      }
    }
  }

  @Test func `a new column makes a transaction fail once, with the advice to run it again`() async throws {
    try await withTable { postgres, execute in
      _ = try await postgres.run(all)
      try await execute("ALTER TABLE \(table) ADD b int DEFAULT 2")
      func read() async throws -> Int32? {
        try await postgres.transaction { try await $0.query(all)[0].int32(1) }
      }
      let error = await postgresError { try await read() }
      #expect(error?.code == .server(sqlState: "0A000"))
      #expect(error?.advice == .runAgain)
      #expect(try await read() == 2)
    }
  }

  @Test func `a session that forgot its statements prepares them again`() async throws {
    try await withTable { postgres, execute in
      _ = try await postgres.run(all)
      try await execute("DEALLOCATE ALL")
      let value2 = try await postgres.run([all, all]).count
      #expect(value2 == 2)
    }
  }

  @Test func `a trip that cannot run at all is tried twice, not for ever`() async throws {
    try await withTable { postgres, _ in
      // 0A000 for another reason than an outdated plan.
      let error = await postgresError {
        try await postgres.run(PostgresQuery("SELECT * FROM \(table) a FULL JOIN \(table) b ON a.a < b.a"))
      }
      #expect(error?.code == .server(sqlState: "0A000"))
    }
  }

  @Test func `notices of the server do not reach stderr`() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "stderr-\(table)").path
    let (own, other) = (dup(2), open(file, O_CREAT | O_RDWR | O_TRUNC, 0o600))
    try #require(own >= 0 && other >= 0)
    dup2(other, 2)
    defer {
      dup2(own, 2)
      for descriptor in [own, other] { close(descriptor) }
      // What others wrote meanwhile.
      let all = (try? Data(contentsOf: URL(filePath: file))) ?? Data()
      all.withUnsafeBytes { _ = write(2, $0.baseAddress, $0.count) }
      try? FileManager.default.removeItem(atPath: file)
    }
    try await withTable { _, execute in
      try await execute("DO $$ BEGIN RAISE WARNING 'a marker of \(table)'; END $$")
      // libpq warns of a password file that is none.
      var endpoint = PostgresTestServer.endpoint!
      endpoint.password = nil
      let client = PostgresClient(endpoint)
      client.start()
      try await eventually("the refusal") { client.failure?.cause.contains("password") == true }
      await client.stop()
    }
    let text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    #expect(!text.contains(table) && !text.contains("password file"))
  }
}
