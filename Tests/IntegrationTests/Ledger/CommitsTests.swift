import AppStore
import Crypto
import Domain
import EventLoop
import Fleets
import JSON
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Commits on a real ledger: what they write, and that they finalize once.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct CommitsTests {
  @Test func `a new purchase is in every table`() async throws {
    try await CommitLab.with(audience: [7]) { lab in
      let request = try CommitLab.request("s1", "me", "1", of: "1")
      let done = try await lab.workers[0].finalize(request)
      #expect(done.code == .purchaseSynchronized && done.version == 1)
      #expect(done.events.map(\.topic) == [EventTopic.synchronizationResult, EventTopic.entitlementsChanged])
      #expect(
        try await lab.texts(
          """
          SELECT concat_ws(' ', customer_id, version, product_id, transaction_id, offer_id, kind,
            extract(epoch FROM expires_date)::bigint, octet_length(payload_sha256)) FROM purchases
          """) == ["me 1 monthly 1 S1 Auto-Renewable Subscription 1702592000 32"])
      #expect(try await lab.texts("SELECT transaction_id FROM transactions") == ["1"])
      #expect(try await lab.texts("SELECT source || ' ' || kind FROM evidence") == ["serverAPI transaction"])
      #expect(try await lab.number("SELECT count(*) FROM certificate_chains") == 1)
      #expect(
        try await lab.texts("SELECT customer_id || ' ' || cause FROM ownerships WHERE ended_at IS NULL")
          == ["me registration"])
      #expect(
        try await lab.texts(
          "SELECT concat_ws(' ', id, customer_id, kind, status, result, version, event_id) FROM synchronizations")
          == ["s1 me registration finalized PURCHASE_SYNCHRONIZED 1 \(done.events[0].id)"])
      #expect(try await lab.number("SELECT version FROM customers WHERE id = 'me' AND NOT is_registered") == 1)
      for table in ["events", "outbox", "deliveries"] {
        #expect(try await lab.number("SELECT count(*) FROM \(table)") == 2, "\(table)")
      }
      let bodies = try await lab.clients[0].run("SELECT body FROM events ORDER BY topic DESC")
      #expect(bodies.map { $0.bytes(0) } == done.events.map(\.body))
    }
  }

  @Test func `deliveries are owed only where there are endpoints`() async throws {
    try await CommitLab.with { lab in
      _ = try await lab.workers[0].finalize(CommitLab.request("s1", "me", "1", of: "1"))
      #expect(try await lab.number("SELECT count(*) FROM outbox") == 2)
      #expect(try await lab.number("SELECT count(*) FROM deliveries") == 0)
    }
  }

  @Test func `in shadow mode the ledger has the events and owes them to nobody`() async throws {
    try await CommitLab.with(audience: EventAudience(withWebhooks: [7], inShadow: [7])) { lab in
      _ = try await lab.workers[0].finalize(CommitLab.request("s1", "me", "1", of: "1"))
      #expect(try await lab.number("SELECT count(*) FROM events") == 2)
      #expect(try await lab.number("SELECT count(*) FROM outbox") == 0)
      #expect(try await lab.number("SELECT count(*) FROM deliveries") == 0)
    }
  }

  @Test func `a job finalizes once, whoever runs it`() async throws {
    try await CommitLab.with(workers: 2) { lab in
      let request = try CommitLab.request("s1", "me", "1", of: "1")
      // In one batch, and on two workers at once.
      let all = try await lab.finalize([(0, request), (0, request), (1, request), (1, request)])
      // In later batches.
      let later = try await lab.finalize([(0, request), (1, request)])
      let first = all[0].synchronization
      for done in all + later {
        #expect(done.synchronization.result == first.result)
        #expect(done.events.first { $0.topic == EventTopic.synchronizationResult } == all[0].events[0])
      }
      #expect(try await lab.number("SELECT count(*) FROM synchronizations") == 1)
      #expect(try await lab.number("SELECT count(*) FROM events") == 2)
      #expect(try await lab.number("SELECT version FROM purchases") == 1)
      #expect(try await lab.number("SELECT count(*) FROM ownerships") == 1)
      // Other evidence of the same job has no effect either.
      let other = try CommitLab.request("s1", "me", "1", of: "1", revoked: 0, signed: 1)
      #expect(try await lab.workers[0].finalize(other).code == .purchaseSynchronized)
      #expect(try await lab.number("SELECT version FROM purchases") == 1)
    }
  }

  @Test func `an earlier run's result can be found`() async throws {
    try await CommitLab.with { lab in
      let request = try CommitLab.request("s1", "me", "1", of: "1")
      #expect(try await lab.workers[0].find(request.job) == nil)
      let done = try await lab.workers[0].finalize(request)
      let found = try await lab.workers[0].find(request.job)
      #expect(found?.events == [done.events[0]])
      #expect(found?.synchronization.result == done.synchronization.result)
      for job in [CommitLab.job("s1", "you", "1"), CommitLab.job("s1", "me", "2"), CommitLab.job("s2", "me", "1")] {
        #expect(try await lab.workers[0].find(job) == nil)
      }
      lab.workers[0].confirm(done.events.map(\.id))
      await lab.workers[0].flushConfirmed()
      #expect(try await lab.workers[0].find(request.job)?.events == [])
    }
  }

  @Test func `a job that the ledger refuses ends alone`() async throws {
    try await CommitLab.with { lab in
      let worker = lab.workers[0]
      let tasks = try (0..<40).map { number in
        // PostgreSQL takes no text with a NUL.
        let request = try CommitLab.request(
          number == 23 ? "bad\u{0}" : "s\(number)", "me\(number)", "\(number)", of: "\(number)")
        return Task { @LoopActor in try? await worker.finalize(request).code }
      }
      var results: [Int: ResultCode] = [:]
      for (number, task) in tasks.enumerated() { results[number] = await task.value }
      #expect(results.count == 39 && results[23] == nil)
      #expect(Set(results.values) == [.purchaseSynchronized])
      #expect(try await lab.number("SELECT count(*) FROM synchronizations") == 39)
      #expect(lab.failures.all.contains { ($0 as? PostgresError)?.code == .server(sqlState: "22021") })
      let poison = CommitLab.job("bad\u{0}", "me", "1")
      await #expect(throws: PostgresError.self) { try await worker.postpone(poison, until: 0) }
    }
  }

  @Test func `a batch larger than a block of numbers commits, and so do two at once`() async throws {
    try await CommitLab.with(connections: 2) { lab in
      for round in 0..<3 {
        let requests = try (0..<450).map { number in
          let name = "\(round * 1000 + number)"
          return (worker: 0, request: try CommitLab.request("s" + name, "c" + name, name, of: name))
        }
        #expect(try await lab.finalize(requests).allSatisfy { $0.version == 1 })
      }
      #expect(try await lab.number("SELECT count(DISTINCT subscription_id) FROM ownerships") == 1350)
    }
  }

  // MARK: Waiting

  @Test func `a waiting synchronization is finalized in its row`() async throws {
    try await CommitLab.with { lab in
      let request = try CommitLab.request("s1", "me", "1", of: "1")
      for _ in 0..<2 { try await lab.workers[0].postpone(request.job, until: CommitLab.now + 60_000) }
      #expect(try await lab.texts("SELECT status FROM synchronizations") == ["retrying"])
      #expect(try await lab.workers[0].find(request.job) == nil)
      let done = try await lab.workers[0].finalize(request)
      #expect(done.version == 1)
      let row = "SELECT concat_ws(' ', status, customer_id, due_at, job, result) FROM synchronizations"
      #expect(try await lab.texts(row) == ["finalized me PURCHASE_SYNCHRONIZED"])
      // A late order to wait does not open it again.
      try await lab.workers[0].postpone(request.job, until: CommitLab.now + 60_000)
      #expect(try await lab.texts(row) == ["finalized me PURCHASE_SYNCHRONIZED"])
    }
  }

  @Test func `a waiting job of an erased customer is finalized without the customer`() async throws {
    try await CommitLab.with { lab in
      let request = try CommitLab.request("s1", "me", "1", of: "1")
      try await lab.workers[0].postpone(request.job, until: CommitLab.now)
      try await lab.clients[0].run(
        "INSERT INTO erased_customers VALUES (7, sha256('7:me'), to_timestamp(\(CommitLab.now / 1000)))")
      let done = try await lab.workers[0].finalize(request)
      #expect(done.code == .customerErased)
      let row = "SELECT concat_ws(' ', status, split_part(customer_id, ':', 1), result) FROM synchronizations"
      #expect(try await lab.texts(row) == ["finalized erased CUSTOMER_ERASED"])
      #expect(try await lab.number("SELECT count(*) FROM customers") == 0)
      #expect(try await lab.number("SELECT count(*) FROM purchases WHERE customer_id IS NOT NULL") == 0)
      #expect(try await lab.workers[0].find(request.job)?.code == .customerErased)
      #expect(try await lab.workers[0].finalize(request).code == .customerErased)
    }
  }

  @Test func `a sweep takes each overdue job once`() async throws {
    try await CommitLab.with { lab in
      let jobs = (0..<20).map { CommitLab.job("s\($0)", "me", "\($0)") }
      for job in jobs { try await lab.workers[0].postpone(job, until: CommitLab.now) }
      try await lab.workers[0].postpone(CommitLab.job("later", "me", "1"), until: 4_000_000_000_000)
      let waiting = WaitingSynchronizations(lab.clients[0])
      async let one = waiting.takeOverdue(by: .seconds(60), limit: 15, doors: DoorCatalog())
      async let other = waiting.takeOverdue(by: .seconds(60), limit: 15, doors: DoorCatalog())
      var taken = try await one + other
      taken += try await waiting.takeOverdue(by: .seconds(60), limit: 15, doors: DoorCatalog())
      #expect(taken.map(\.synchronizationId).sorted() == jobs.map(\.synchronizationId).sorted())
      #expect(try await waiting.takeOverdue(by: .seconds(60), limit: 15, doors: DoorCatalog()).isEmpty)
    }
  }

  // MARK: The outbox

  @Test func `events stay in the outbox until they are confirmed`() async throws {
    try await CommitLab.with { lab in
      let done = try await lab.workers[0].finalize(CommitLab.request("s1", "me", "1", of: "1"))
      lab.workers[0].confirm([done.events[0].id, "unknown"])
      #expect(try await lab.number("SELECT count(*) FROM outbox") == 2)
      // The next commit takes the confirmed event out.
      let next = try await lab.workers[0].finalize(CommitLab.request("s2", "me", "1", of: "1"))
      let left = try await lab.texts("SELECT event_id FROM outbox")
      #expect(Set(left) == [done.events[1].id.text, next.events[0].id.text])
      lab.workers[0].confirm([done.events[1].id, next.events[0].id])
      await lab.workers[0].flushConfirmed()
      #expect(try await lab.number("SELECT count(*) FROM outbox") == 0)
      #expect(try await lab.number("SELECT count(*) FROM events") == 3)
    }
  }

  @Test func `a sweep takes each overdue event once`() async throws {
    try await CommitLab.with { lab in
      let requests = try (0..<10).map { (0, try CommitLab.request("s\($0)", "c\($0)", "\($0)", of: "\($0)")) }
      let events = try await lab.finalize(requests).flatMap(\.events)
      let outbox = Outbox(lab.clients[0])
      func take(_ limit: Int) async throws -> [Event] {
        try await outbox.takeOverdue(olderThan: .seconds(60), limit: limit).takeEvents()
      }
      #expect(try await take(100).isEmpty)
      try await lab.clients[0].run("UPDATE outbox SET created_at = now() - interval '2 minutes'")
      async let one = take(15)
      async let other = take(15)
      var taken = try await one + other
      taken += try await take(15)
      #expect(taken.sorted { $0.id < $1.id } == events.sorted { $0.id < $1.id })
      #expect(try await take(100).isEmpty)
    }
  }

  // MARK: Evidence

  @Test func `a status that comes later beside the same renewal info is kept`() async throws {
    try await CommitLab.with { lab in
      _ = try await lab.workers[0].finalize(CommitLab.request("s1", "me", "1", of: "1"))
      let payload = JSONWriter.object { writer in
        writer.member("environment", "Production")
        writer.member("originalTransactionId", "1")
        writer.member("signedDate", CommitLab.now)
      }
      let facts = try RenewalFacts(
        JSONText(payload).decoded(as: RenewalInfoPayload.self), payloadSHA256: SHA256.hash(payload))
      func request(_ id: String, _ statuses: Int32?...) -> FinalizationRequest {
        let pieces = statuses.map { code in
          Evidence(
            .renewalInfo(facts, status: code.map { ReportedStatus(code: $0, date: facts.signedDate) }),
            source: .serverAPI, signedHeader: [1], payload: payload, signature: [3])
        }
        return FinalizationRequest(
          CommitLab.job(id, "me", "1"), .evidence(CommitLab.key("1"), pieces), publisher: CommitLab.publisher)
      }
      let status = "SELECT status::bigint FROM evidence WHERE kind = 'renewalInfo'"
      _ = try await lab.workers[0].finalize(request("s2", nil))
      #expect(try await lab.clients[0].run(status).map { $0.int64(0) } == [nil])
      #expect(try await lab.workers[0].finalize(request("s3", 1, 5)).code == .purchaseRevoked)
      #expect(try await lab.number(status) == 5)
      #expect(try await lab.workers[0].finalize(request("s4", 1)).version == 3)
      #expect(try await lab.number(status) == 5)
    }
  }

  @Test func `what a commit reads is what an earlier one wrote`() async throws {
    try await CommitLab.with { lab in
      _ = try await lab.workers[0].finalize(CommitLab.request("s1", "me", "1", of: "1"))
      let refund = try CommitLab.request("s2", "you", "1", of: "1", revoked: -0.5, signed: 1)
      #expect(try await lab.workers[0].finalize(refund).code == .purchaseRevoked)
      // Stale evidence, "not found" by its transaction, and a run without evidence.
      let stale = try CommitLab.request("s3", "me", "1", of: "1")
      #expect(try await lab.workers[0].finalize(stale).version == 2)
      let lost = FinalizationRequest(
        CommitLab.job("s4", "me", "1"), .noEvidence(.transactionIdNotFound), publisher: CommitLab.publisher)
      #expect(try await lab.workers[0].finalize(lost).code == .purchaseRevoked)
      let known = FinalizationRequest(
        CommitLab.job("s5", "me", "1", .transfer), .known(nil), publisher: CommitLab.publisher)
      let done = try await lab.workers[0].finalize(known)
      #expect(done.code == .purchaseOwnershipUnchanged && done.version == 2)
      #expect(try await lab.texts("SELECT kind FROM synchronizations WHERE id = 's5'") == ["transfer"])
      #expect(try await lab.number("SELECT revocation_reason::bigint FROM transactions") == 1)
    }
  }

  @Test func `a consumable is granted first once, also across commits`() async throws {
    try await CommitLab.with { lab in
      for (number, customer) in ["me", "me", "you"].enumerated() {
        let request = try CommitLab.request("s\(number)", customer, "1", of: "1", "coins", .consumable)
        let grant = try await lab.workers[0].finalize(request).synchronization.result?.consumable
        #expect(grant?.isFirstGrant == (number == 0))
      }
      #expect(try await lab.number("SELECT count(*) FROM transactions WHERE first_granted_at IS NOT NULL") == 1)
      #expect(try await lab.number("SELECT version FROM customers") == 0)
    }
  }

  // MARK: Plans

  /// PostgreSQL keeps the plans of a session's statements. Those that it makes for empty tables must do for full ones.
  @Test func `commits read no table whole, although the tables were empty at first`() async throws {
    try await CommitLab.with(connections: 1, isChecked: false) { lab in
      let scans = """
        SELECT coalesce(sum(seq_tup_read), 0)::bigint FROM pg_stat_user_tables
        WHERE relname IN ('purchases', 'transactions', 'customers', 'synchronizations', 'evidence')
        """
      for round in 0..<20 {
        let requests = try (0..<50).map { number in
          let name = "\(round * 50 + number)"
          return (worker: 0, request: try CommitLab.request("s" + name, "c" + name, name, of: name))
        }
        _ = try await lab.finalize(requests)
      }
      // A session tells its numbers when it ends.
      await lab.clients[0].stop()
      try await LedgerDatabase.client(lab.endpoint) { reader in
        try await eventually("the numbers are told") {
          try await reader.run("SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'synchronizations'")[0]
            .int64(0) == 1000
        }
        #expect(try await reader.run(scans)[0].int64(0) == 0)
      }
    }
  }
}
