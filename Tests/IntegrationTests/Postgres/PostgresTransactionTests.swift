import EventLoop
import Fleets
import Postgres
import ServerSupport
import Testing

@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct PostgresTransactionTests {
  private struct Refusal: Error {}

  /// A table of its own for each test: `id` is unique, and `late` is unique at the commit.
  @LoopActor
  private struct Table {
    let postgres: PostgresClient
    let name = "test_\(UInt64.random(in: 0 ... .max))"

    func insert(_ id: Int64, late: Int64? = nil) -> PostgresQuery {
      PostgresQuery(PostgresStatement("insert", "INSERT INTO \(name) VALUES ($1, $2)"), [.int64(id), .int64(late)])
    }

    func ids() async throws -> [Int64?] {
      try await postgres.run(PostgresQuery(PostgresStatement("ids", "SELECT id FROM \(name) ORDER BY id")))
        .map { $0.int64(0) }
    }
  }

  private func with(_ body: @LoopActor (PostgresClient, Table) async throws -> Void) async throws {
    try await PostgresTestServer.with { postgres in
      let table = Table(postgres: postgres)
      _ = try await postgres.run(
        PostgresQuery(
          PostgresStatement(
            "create",
            "CREATE TABLE \(table.name) (id bigint PRIMARY KEY, late bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)")))
      try await body(postgres, table)
      _ = try await postgres.run(PostgresQuery(PostgresStatement("drop", "DROP TABLE \(table.name)")))
    }
  }

  @Test func `a trip commits all its queries`() async throws {
    try await with { postgres, table in
      let results = try await postgres.run([table.insert(1), table.insert(2)])
      #expect(results.map(\.affected) == [1, 1])
      let ids1 = try await table.ids()
      #expect(ids1 == [1, 2])
      let none: [PostgresRows] = try await postgres.run([])
      #expect(none.isEmpty)
    }
  }

  @Test func `an error in the middle undoes the whole trip, and the next work is fine`() async throws {
    try await with { postgres, table in
      _ = try await postgres.run(table.insert(1))
      let error = await postgresError {
        try await postgres.run([table.insert(2), table.insert(1), table.insert(3)])
      }
      #expect(error?.code == .server(sqlState: "23505"))
      #expect(error?.constraint == table.name + "_pkey")
      #expect(error?.operation == "insert")
      let ids2 = try await table.ids()
      #expect(ids2 == [1])
      _ = try await postgres.run(table.insert(2))
      let ids3 = try await table.ids()
      #expect(ids3 == [1, 2])
    }
  }

  @Test func `a statement that cannot be prepared fails alone`() async throws {
    try await with { postgres, table in
      let wrong = PostgresQuery(PostgresStatement("wrong", "SELECT nothing FROM nowhere"))
      let trips = [[table.insert(1)], [table.insert(2), wrong], [table.insert(3)], [wrong]].map { queries in
        Task { @LoopActor in try await postgres.run(queries).count }
      }
      let counts = (try await trips[0].value, try await trips[2].value)
      #expect(counts == (1, 1))
      for trip in [trips[1], trips[3]] {
        let error = await postgresError { try await trip.value }
        #expect(error?.code == .server(sqlState: "42P01"))
        #expect(error?.operation == "wrong")
      }
      let ids4 = try await table.ids()
      #expect(ids4 == [1, 3])
    }
  }

  @Test func `an error at the commit is an error of the trip`() async throws {
    try await with { postgres, table in
      _ = try await postgres.run(table.insert(1, late: 7))
      let trip = await postgresError { try await postgres.run(table.insert(2, late: 7)) }
      #expect(trip?.code == .server(sqlState: "23505"))
      #expect(trip?.operation == "commit")
      let transaction = await postgresError {
        try await postgres.transaction { try await $0.query(table.insert(3, late: 7)) }
      }
      #expect(transaction?.code == .server(sqlState: "23505"))
      let ids5 = try await table.ids()
      #expect(ids5 == [1])
    }
  }

  @Test func `a transaction of several trips commits when its body returns`() async throws {
    try await with { postgres, table in
      let seen = try await postgres.transaction { transaction in
        _ = try await transaction.query(table.insert(1))
        let own = try await transaction.query(PostgresQuery("SELECT count(*) FROM \(table.name)"))[0].int64(0)
        let ids6 = try await table.ids()
        #expect(ids6 == [])
        _ = try await transaction.query([table.insert(2), table.insert(3)])
        return own
      }
      #expect(seen == 1)
      let ids7 = try await table.ids()
      #expect(ids7 == [1, 2, 3])
    }
  }

  @Test func `the last queries can commit in the same trip`() async throws {
    try await with { postgres, table in
      var kept: PostgresTransaction?
      let affected = try await postgres.transaction { transaction in
        kept = transaction
        _ = try await transaction.query(table.insert(1))
        let results = try await transaction.commit([table.insert(2), table.insert(3)])
        let ids8 = try await table.ids()
        #expect(ids8 == [1, 2, 3])
        return results.map(\.affected)
      }
      #expect(affected == [1, 1])
      let error = await postgresError { try await kept?.query(table.insert(4)) }
      #expect(error?.code == .closed)
      let refused = await postgresError {
        try await postgres.transaction { try await $0.commit([table.insert(5), table.insert(1)]) }
      }
      #expect(refused?.code == .server(sqlState: "23505"))
      let ids9 = try await table.ids()
      #expect(ids9 == [1, 2, 3])
    }
  }

  @Test func `a transaction rolls back when its body throws`() async throws {
    try await with { postgres, table in
      await #expect(throws: Refusal.self) {
        try await postgres.transaction { transaction in
          _ = try await transaction.query(table.insert(1))
          throw Refusal()
        }
      }
      await #expect(throws: Refusal.self) {
        try await postgres.transaction { (_) async throws -> Void in throw Refusal() }
      }
      let none = try await table.ids()
      #expect(none == [])
      _ = try await postgres.run((0..<20).map { table.insert($0) })
      let all = try await table.ids()
      #expect(all.count == 20)
    }
  }

  @Test func `a body that ignores an error cannot commit the rest`() async throws {
    try await with { postgres, table in
      let error = await postgresError {
        try await postgres.transaction { transaction in
          _ = try await transaction.query(table.insert(1))
          _ = try? await transaction.query(table.insert(1))
          let next = await postgresError { try await transaction.query(table.insert(2)) }
          #expect(next?.code == .server(sqlState: "23505"))
        }
      }
      #expect(error?.code == .server(sqlState: "23505"))
      let ids10 = try await table.ids()
      #expect(ids10 == [])
    }
  }

  @Test func `a lock that another transaction keeps ends in an error that advises to run again`() async throws {
    try await with { postgres, table in
      _ = try await postgres.run(table.insert(1))
      let lock = PostgresQuery(PostgresStatement("lock", "SELECT id FROM \(table.name) WHERE id = 1 FOR UPDATE"))
      let shortly = PostgresQuery("SELECT set_config('lock_timeout', '10ms', true)")
      try await postgres.transaction { transaction in
        _ = try await transaction.query(lock)
        let error = await postgresError { try await postgres.run([shortly, lock]) }
        #expect(error?.code == .server(sqlState: "55P03"))
        #expect(error?.advice == .runAgain)
      }
      _ = try await postgres.run([shortly, lock])
    }
  }
}
