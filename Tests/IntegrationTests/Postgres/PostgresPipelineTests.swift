import EventLoop
import Fleets
import Postgres
import ServerSupport
import TestSupport
import Testing

@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct PostgresPipelineTests {
  private let echo = PostgresStatement("echo", "SELECT $1")

  @Test func `ten thousand trips under way at once get their own replies`() async throws {
    try await PostgresTestServer.with { postgres in
      let trips = (0..<10_000).map { number in
        Task { @LoopActor in try await postgres.run(PostgresQuery(echo, [.int64(number)]))[0].int64(0) }
      }
      for (number, trip) in trips.enumerated() {
        let value = try await trip.value
        #expect(value == Int64(number))
      }
    }
  }

  @Test func `a connection prepares a statement once`() async throws {
    try await PostgresTestServer.with(connections: 1) { postgres in
      for number in 0..<3 { _ = try await postgres.run(PostgresQuery(echo, [.int64(Int64(number))])) }
      let row = try await postgres.run(
        PostgresQuery(
          "SELECT count(*), sum(generic_plans + custom_plans)::bigint FROM pg_prepared_statements WHERE name = 'echo'"))
      #expect(row[0].int64(0) == 1 && row[0].int64(1) == 3)
    }
  }

  /// More bytes than the sockets take, in both directions at once: neither side may wait for the other.
  @Test func `large parameters and large results pass each other`() async throws {
    try await PostgresTestServer.with(connections: 1) { postgres in
      let trips = (0..<4).map { number in
        Task { @LoopActor in
          let bytes = [UInt8](repeating: UInt8(number), count: 10 << 20)
          let rows = try await postgres.run(
            PostgresQuery(PostgresStatement("large", "SELECT $1, $2"), [.bytes(bytes), .int64(Int64(number))]))
          return rows[0].int64(1) == Int64(number) && rows[0].bytes(0) == bytes
        }
      }
      for trip in trips {
        let isRight = try await trip.value
        #expect(isRight)
      }
    }
  }

  @Test func `a result of many rows arrives whole`() async throws {
    try await PostgresTestServer.with(connections: 1) { postgres in
      let rows = try await postgres.run(
        PostgresQuery("SELECT n, repeat('x', 100) FROM generate_series($1, $2) AS n", [.int64(1), .int64(100_000)]))
      #expect(rows.count == 100_000)
      #expect(rows.lazy.map { $0.int64(0) ?? 0 }.reduce(0, +) == 5_000_050_000)
      #expect(rows[99_999].text(1)?.utf8.count == 100)
    }
  }

  @Test func `transactions and trips take turns, and none waits for ever`() async throws {
    try await PostgresTestServer.with { postgres in
      var done = 0
      let query = PostgresQuery(echo, [.int64(1)])
      let work = (0..<3000).map { number in
        Task { @LoopActor in
          if number % 3 == 0 {
            try await postgres.transaction { transaction in
              _ = try await transaction.query(query)
              _ = try await transaction.query([query, query])
            }
          } else {
            _ = try await postgres.run(query)
          }
          done += 1
        }
      }
      for task in work { try await task.value }
      #expect(done == 3000)
    }
  }

  @Test func `work goes to the connection that no transaction holds`() async throws {
    let name = "test_\(UInt64.random(in: 0 ... .max))"
    try await PostgresTestServer.with {
      $0.applicationName = name
    } _: { postgres in
      let sessions = PostgresQuery("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", [.text(name)])
      try await eventually("both connections") { try await postgres.run(sessions)[0].int64(0) == 2 }
      let own = PostgresQuery("SELECT pg_backend_pid()")
      try await postgres.transaction { transaction in
        let mine = try await transaction.query(own)[0].int32(0)
        for _ in 0..<10 {
          let other = try await postgres.run(own)[0].int32(0)
          #expect(other != mine)
        }
      }
    }
  }
}
