import Domain
import EventLoop
import Fleets
import Formats
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Commits beside the erasure of their customer, on a real ledger.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct CommitErasureTests {
  /// The erasure has inserted the row that it locks, the commit has found no erasure and waits for the row.
  @Test func `an erasure between the commit's read and its write counts`() async throws {
    try await CommitLab.with(workers: 2) { lab in
      let request = try CommitLab.request("s1", "me", "1", of: "1")
      let isWaiting =
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
      let commit = try await lab.clients[1].transaction { transaction in
        _ = try await transaction.query(
          PostgresQuery(
            PostgresStatement(
              "test: claim", "INSERT INTO customers (publisher_id, id, is_registered) VALUES (7, 'me', false)")))
        let commit = Task { @LoopActor in try await lab.workers[0].finalize(request) }
        try await eventually("the commit waits for the row") { try await lab.number(isWaiting) == 1 }
        _ = try await transaction.query([
          PostgresQuery(PostgresStatement("test: erase", "DELETE FROM customers WHERE id = 'me'")),
          PostgresQuery(
            PostgresStatement("test: note", "INSERT INTO erased_customers VALUES (7, sha256('7:me'), $1)"),
            [.time(CommitLab.now)]),
        ])
        return commit
      }
      #expect(try await commit.value.code == .customerErased)
      #expect(lab.failures.all.count == 1)
      #expect(try await lab.number("SELECT count(*) FROM customers") == 0)
      #expect(try await lab.number("SELECT count(*) FROM purchases WHERE customer_id IS NOT NULL") == 0)
      #expect(try await lab.number("SELECT count(*) FROM events WHERE customer_id IS NOT NULL") == 0)
    }
  }

  @Test func `who was erased before the first commit stays erased`() async throws {
    try await CommitLab.with { lab in
      let request = try CommitLab.request("s1", "me", "1", of: "1")
      #expect(try await CustomerStore(lab.clients[0]).erase(7, "me", now: CommitLab.now) == nil)
      #expect(try await lab.workers[0].finalize(request).code == .customerErased)
      #expect(try await lab.number("SELECT count(*) FROM customers") == 0)
    }
  }

  @Test func `a job that waits again after the erasure brings neither the id nor the address back`() async throws {
    try await CommitLab.with { lab in
      let first = try CommitLab.request("s1", "me", "1", of: "1")
      let job = Job(
        synchronizationId: "s1", publisherId: 7, customerId: "me", transactionId: "1", ipAddress: "203.0.113.7",
        registeredAt: first.job.registeredAt)
      let rows = """
        SELECT concat_ws(' ', status, split_part(customer_id, ':', 1), convert_from(job, 'UTF8') LIKE '%203.0%')
        FROM synchronizations
        """
      try await lab.workers[0].postpone(job, until: CommitLab.now)
      #expect(try await lab.texts(rows) == ["retrying me t"])
      #expect(try await CustomerStore(lab.clients[0]).erase(7, "me", now: CommitLab.now) != nil)
      try await lab.workers[0].postpone(job, until: CommitLab.now + 1)
      #expect(try await lab.texts(rows) == ["retrying erased f"])
      // A commit beside the erasure may have kept a row with the id. The next one deletes it.
      for isFinal in [false, true] {
        try await lab.clients[0].run(
          """
          INSERT INTO synchronizations (publisher_id, id, transaction_id, customer_id, kind, status, job, due_at)
          SELECT publisher_id, id, transaction_id, 'me', kind, status, job, due_at FROM synchronizations
          """)
        if isFinal {
          #expect(try await lab.workers[0].finalize(first).code == .customerErased)
        } else {
          try await lab.workers[0].postpone(job, until: CommitLab.now + 2)
        }
        #expect(try await lab.texts("SELECT split_part(customer_id, ':', 1) FROM synchronizations") == ["erased"])
      }
      #expect(try await lab.texts("SELECT status FROM synchronizations") == ["finalized"])
    }
  }

  @Test func `an erasure and an export read no table whole`() async throws {
    try await CommitLab.with(isChecked: false) { lab in
      for (number, customer) in ["me", "you", "he"].enumerated() {
        _ = try await lab.workers[0].finalize(
          CommitLab.request("s\(number)", customer, "\(number)", of: "\(number)"))
      }
      for client in lab.clients { await client.stop() }
      var session = lab.endpoint
      session.sessionSettings = [("enable_seqscan", "off")]
      try await LedgerDatabase.client(session) { (client) async throws in
        let document = try await CustomerStore(client).export(7, "me", now: CommitLab.now)
        let erasure = try await CustomerStore(client).erase(7, "me", now: CommitLab.now)
        #expect(document != nil && erasure?.purchases == 1)
      }
      // A session tells its numbers when it ends.
      try await LedgerDatabase.client(lab.endpoint) { (reader) async throws in
        try await eventually("the numbers are told") {
          try await reader.run("SELECT n_tup_del FROM pg_stat_user_tables WHERE relname = 'customers'")[0].int64(0) == 1
        }
        let scanned = try await reader.run(
          "SELECT relname::text FROM pg_stat_user_tables WHERE seq_tup_read > 0 AND relname <> 'schema_steps' ORDER BY 1"
        )
        let names = scanned.map { $0.text(0) ?? "" }
        #expect(names == [])
      }
    }
  }

  @Test func `a synchronization stays as long as its event`() async throws {
    try await CommitLab.with { lab in
      _ = try await lab.workers[0].finalize(CommitLab.request("s1", "me", "1", of: "1"))
      let retention = Retention(lab.clients[0])
      // The event waits in the outbox.
      #expect(try await retention.deleteOldest(synchronizations: .zero, events: .zero, limit: 10) == 0)
      try await lab.clients[0].run("DELETE FROM outbox")
      #expect(
        try await retention.deleteOldest(synchronizations: .zero, events: .seconds(1_000_000_000), limit: 10) == 0)
      _ = try await retention.deleteOldest(synchronizations: .zero, events: .zero, limit: 10)
      _ = try await retention.deleteOldest(synchronizations: .zero, events: .zero, limit: 10)
      #expect(try await lab.number("SELECT count(*) FROM events") == 0)
      #expect(try await lab.number("SELECT count(*) FROM synchronizations") == 0)
    }
  }
}
