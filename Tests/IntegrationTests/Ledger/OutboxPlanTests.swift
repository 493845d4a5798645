import Domain
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import Testing

/// Tables that are nearly always empty, and the plans that PostgreSQL keeps of such a moment.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct OutboxPlanTests {
  @Test func `confirmed events leave a full outbox, whose plan was made while it was empty`() async throws {
    try await CommitLab.with(connections: 1) { (lab, postgres) async throws in
      try await postgres.run("ALTER TABLE outbox SET (autovacuum_enabled = off)")
      try await postgres.run("ANALYZE outbox")
      _ = try await postgres.run(Event.confirmed(["nobody"]))
      let fill = "INSERT INTO outbox SELECT 'evt_' || number FROM generate_series(1, 3000) AS number"
      try await postgres.run(fill)
      let plan = try await postgres.keptPlan(
        where: "statement LIKE 'DELETE FROM outbox%'", "'{evt_1,evt_2}'", after: Event.confirmed(["nobody"]))
      // Each row of the table would lock all confirmed ones again.
      try #require(!plan.contains { $0.contains("Nested Loop") }, "\(plan)")
      _ = try await postgres.run(Event.confirmed((1...200).map { EventId("evt_\($0)") }))
      #expect(try await lab.number("SELECT count(*) FROM outbox") == 2800)
    }
  }

  @Test func `told events leave a long list of owed ones, whose plan was made while it was empty`() async throws {
    try await CommitLab.with(connections: 1) { (lab, postgres) async throws in
      try await postgres.run("ALTER TABLE owed_events SET (autovacuum_enabled = off)")
      try await postgres.run("ANALYZE owed_events")
      let owed = OwedEvents(postgres)
      // PostgreSQL decides by itself from the sixth execution on.
      for _ in 0..<8 { try await owed.settle(["nobody"], of: "billing") }
      for _ in 0..<8 { _ = try await owed.forget("nobody", limit: 10) }
      let fill = """
        INSERT INTO owed_events (event_id, subscriber, cause, due_at)
        SELECT 'evt_' || number, 'billing', 'full', now() FROM generate_series(1, 3000) AS number
        """
      try await postgres.run(fill)
      for (begin, parameters) in [
        ("DELETE FROM owed_events WHERE subscriber = $2", "'{evt_1}', 'billing'"),
        ("DELETE FROM owed_events WHERE subscriber = $1", "'billing', 10"),
      ] {
        let query = PostgresQuery(PostgresStatement("test: nothing", "SELECT 1"))
        let plan = try await postgres.keptPlan(where: "statement LIKE '\(begin)%'", parameters, after: query)
        // It is the kept one, for all parameters.
        try #require(!plan.contains { $0.contains("'billing'") }, "\(plan)")
        try #require(!plan.contains { $0.contains("Nested Loop") }, "\(plan)")
      }
      try await owed.settle((1...200).map { EventId("evt_\($0)") }, of: "billing")
      #expect(try await lab.number("SELECT count(*) FROM owed_events") == 2800)
      #expect(try await owed.forget("billing", limit: 1000) == 1000)
      #expect(try await lab.number("SELECT count(*) FROM owed_events") == 1800)
    }
  }
}

extension CommitLab {
  /// Runs a body with a new ledger and the only client of it.
  fileprivate static func with(
    connections: Int, _ body: @LoopActor (CommitLab, PostgresClient) async throws -> Void
  ) async throws {
    try await with(workers: 1, connections: connections, isChecked: false) { lab in
      try await body(lab, lab.clients[0])
    }
  }
}
