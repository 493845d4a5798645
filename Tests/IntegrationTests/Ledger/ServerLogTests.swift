import Domain
import EventLoop
import Fleets
import FoundationEssentials
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// What PostgreSQL writes into its own log: no erasure reaches it, so it must not name a customer.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct ServerLogTests {
  /// A customer of this test alone, as an e-mail address.
  private let person = "Jane.\(UInt64.random(in: 0...UInt64.max))@example.com"

  /// Whether the log has a text.
  private func logs(_ text: String) throws -> Bool {
    let log = try Data(contentsOf: URL(filePath: TestServers.current!.logFile(of: .postgres)))
    return log.firstRange(of: Data(text.utf8)) != nil
  }

  /// Another transaction has written a row and not committed it; the commit waits for the row. More follows then.
  private func overtake(
    _ lab: CommitLab, by sql: String, then more: String = "SELECT 1", _ request: FinalizationRequest
  ) async throws -> Finalized {
    let isWaiting =
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    let commit = try await lab.clients[1].transaction { transaction in
      _ = try await transaction.query(PostgresQuery(PostgresStatement("test \(sql.hashValue)", sql)))
      let commit = Task { @LoopActor in try await lab.workers[0].finalize(request) }
      try await eventually("the commit waits for the row") { try await lab.number(isWaiting) == 1 }
      _ = try await transaction.query(PostgresQuery(PostgresStatement("test \(more.hashValue)", more)))
      return commit
    }
    return try await commit.value
  }

  private func expectConflict(_ lab: CommitLab) {
    let codes = lab.failures.all.map { ($0 as? PostgresError)?.code }
    #expect(codes == [.server(sqlState: "40001")])
    lab.failures.all = []
  }

  @Test func `a commit that another one overtakes leaves no name`() async throws {
    // What another worker has committed by hand is no whole commit.
    try await CommitLab.with(workers: 2, isChecked: false) { lab in
      let customer = "INSERT INTO customers (publisher_id, id, is_registered) VALUES (7, '\(person)', false)"
      let request = try CommitLab.request("s1", person, "1", of: "1")
      #expect(try await overtake(lab, by: customer, request).code == .purchaseSynchronized)
      expectConflict(lab)
      #expect(try await lab.number("SELECT count(*) FROM customers") == 1)

      let synchronization = """
        INSERT INTO synchronizations (publisher_id, id, transaction_id, customer_id, kind, status)
        VALUES (7, 's2', '2', '\(person)', 'registration', 'retrying')
        """
      let other = try CommitLab.request("s2", person, "2", of: "2")
      #expect(try await overtake(lab, by: synchronization, other).code == .purchaseSynchronized)
      expectConflict(lab)
      #expect(try await lab.number("SELECT count(*) FROM synchronizations WHERE status = 'finalized'") == 2)
      #expect(try !logs(person))
    }
  }

  @Test func `an erasure that comes between leaves no name`() async throws {
    try await CommitLab.with(workers: 2, isChecked: false) { lab in
      let customer = "INSERT INTO customers (publisher_id, id, is_registered) VALUES (7, '\(person)', false)"
      let erasure = """
        WITH gone AS (DELETE FROM customers RETURNING 1)
        INSERT INTO erased_customers SELECT 7, sha256('7:\(person)'), now() FROM gone
        """
      let request = try CommitLab.request("s1", person, "1", of: "1")
      #expect(try await overtake(lab, by: customer, then: erasure, request).code == .customerErased)
      expectConflict(lab)
      #expect(try await lab.number("SELECT count(*) FROM customers") == 0)
      #expect(try !logs(person))
    }
  }

  @Test func `an e-mail address in use leaves no name, also when two want it at once`() async throws {
    try await LedgerDatabase.with(isMigrated: true) { endpoint in
      let client = PostgresClient(endpoint, connections: 2)
      client.start()
      try await eventually("the client is ready") { client.isReady }
      let store = CustomerStore(client)
      for round in 0..<20 {
        let email = "\(round).\(person)"
        async let one = store.put(1, Customer(id: CustomerId("a\(round)"), email: email))
        async let other = store.put(1, Customer(id: CustomerId("b\(round)"), email: email.uppercased()))
        let answers = try await [one, other]
        #expect(Set(answers.map { "\($0)" }) == ["created", "emailInUse"])
        #expect(try await store.put(1, Customer(id: "c", email: email)) == .emailInUse)
      }
      await client.stop()
      #expect(try !logs(person) && !logs(person.lowercased()))
    }
  }

  /// So the searches above find what is there.
  @Test func `PostgreSQL's own error for equal keys is found`() async throws {
    try await LedgerDatabase.with(isMigrated: true) { endpoint in
      try await LedgerDatabase.client(endpoint) { client in
        let sql = "INSERT INTO customers (publisher_id, id, is_registered) VALUES (1, $1, false)"
        let query = PostgresQuery(PostgresStatement("test: a person", sql), [.text(person)])
        _ = try await client.run(query)
        await #expect(throws: PostgresError.self) { _ = try await client.run(query) }
        try await eventually("the log has the key") { try logs(person) }
      }
    }
  }
}
