import Domain
import EventLoop
import Fleets
import Postgres
import ServerSupport
import TestSupport
import Testing

@testable import Ledger

/// What PostgreSQL knows of a ledger that grows faster than its autovacuum looks.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct TableStatisticsTests {
  private static let tables = ["customers", "purchases", "synchronizations", "transactions"]

  /// Runs a body with a new ledger whose main tables no autovacuum analyzes.
  private func with(_ body: @LoopActor (CommitLab, PostgresClient) async throws -> Void) async throws {
    try await CommitLab.with(connections: 1, isChecked: false) { (lab) async throws in
      let postgres = lab.clients[0]
      for table in Self.tables { try await postgres.run("ALTER TABLE \(table) SET (autovacuum_enabled = off)") }
      try await body(lab, postgres)
    }
  }

  /// How many rows of a table PostgreSQL knows of; -1, or 0 before PostgreSQL 14, if it has never analyzed it.
  private func known(_ table: String, _ lab: CommitLab) async throws -> Int64 {
    try await lab.number("SELECT reltuples::bigint FROM pg_class WHERE oid = '\(table)'::regclass")
  }

  /// Commits so many new purchases, each of a customer of its own.
  private func commit(_ numbers: Range<Int>, _ lab: CommitLab) async throws {
    _ = try await lab.finalize(
      try numbers.map { (0, try CommitLab.request("s\($0)", "c\($0)", "\($0)1", of: "\($0)0")) })
  }

  @Test func `a new ledger's tables are analyzed, and its plans find one row for a key`() async throws {
    try await with { (lab, postgres) async throws in
      try await commit(0..<1, lab)
      // A plan of now may read all synchronizations of the publisher for each key.
      try #require(try await known("synchronizations", lab) <= 0)
      try await commit(1..<1_200, lab)
      #expect(try await TableStatistics(postgres).analyzeGrownTables().contains("synchronizations"))
      #expect(try await known("synchronizations", lab) == 1_200)
      try await commit(1_200..<1_201, lab)
      let byKeys = PostgresQuery(PostgresStatement("test: by keys", isByKeys: true, "SELECT 1"))
      let conditions = try await postgres.keptPlan(where: "name LIKE 'lock synchronizations%'", after: byKeys)
        .filter { $0.contains("Index Cond") }
      #expect(conditions.contains { $0.contains("(id = ") }, "\(conditions)")
    }
  }

  @Test func `a table that is small, or that PostgreSQL knows well enough, is left alone`() async throws {
    try await with { (lab, postgres) async throws in
      let statistics = TableStatistics(postgres)
      func grown() async throws -> [String] { try await statistics.analyzeGrownTables().filter(Self.tables.contains) }
      #expect(try await grown().isEmpty)
      try await commit(0..<240, lab)
      #expect(try await grown().contains("purchases"))
      #expect(try await grown().isEmpty)
      try await commit(240..<249, lab)
      #expect(try await grown().isEmpty)
    }
  }
}
