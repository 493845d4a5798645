import Domain
import EventLoop
import Fleets
import Formats
import JSON
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Commits of several workers about the same purchases and customers at the same time.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct CommitRaceTests {
  /// No claim separates two transactions of one purchase.
  @Test func `one purchase registered by two customers at once has one owner, 1,000 times`() async throws {
    try await CommitLab.with(workers: 2) { lab in
      for round in 0..<20 {
        var requests: [(worker: Int, request: FinalizationRequest)] = []
        for number in 0..<50 {
          let original = "\(round * 50 + number + 1)"
          let one = try CommitLab.request("a" + original, "one" + original, original, of: original)
          let other = try CommitLab.request(
            "b" + original, "other" + original, original + "00000", of: original, bought: 0, expires: 31)
          // Not always the same worker is first.
          requests += number.isMultiple(of: 2) ? [(0, one), (1, other)] : [(1, other), (0, one)]
        }
        let results = try await lab.finalize(requests).map(\.code)
        for pair in stride(from: 0, to: results.count, by: 2) {
          #expect(
            Set([results[pair], results[pair + 1]]) == [.purchaseSynchronized, .purchaseOwnedByAnotherCustomer])
        }
      }
      #expect(try await lab.number("SELECT count(*) FROM purchases WHERE version = 2") == 1000)
      #expect(try await lab.number("SELECT count(*) FROM ownerships") == 1000)
      #expect(
        try await lab.number(
          """
          SELECT count(*) FROM purchases p JOIN synchronizations s ON s.customer_id = p.customer_id
          WHERE s.result = 'PURCHASE_SYNCHRONIZED'
          """) == 1000)
    }
  }

  @Test func `changes of two purchases of one offer are told in order, and the last one is true`() async throws {
    try await CommitLab.with(workers: 2) { lab in
      var random = SeededRandom(seed: 18)
      var events: [Event] = []
      for round in 0..<25 {
        var requests: [(worker: Int, request: FinalizationRequest)] = []
        for (worker, original) in ["1", "2"].enumerated() {
          for number in 0..<20 {
            let name = "\(round).\(number).\(original)"
            requests.append(
              (
                worker,
                try CommitLab.request(
                  name, "me", original, of: original,
                  expires: Double(Int.random(in: 1...1000, using: &random)),
                  revoked: Bool.random(using: &random) ? nil : 0, signed: Double(round * 20 + number + 1) / 1000)
              ))
          }
        }
        events += try await lab.finalize(requests).flatMap(\.events)
      }
      let steps = try events.filter { $0.topic == EventTopic.entitlementsChanged }.map(Step.init)
        .sorted { $0.customerVersion < $1.customerVersion }
      #expect(steps.map(\.customerVersion) == (1...Int64(steps.count)).map { $0 })
      #expect(steps.count > 100)
      #expect(steps[0].before == nil)
      for (step, next) in zip(steps, steps.dropFirst()) { #expect(step.after == next.before) }
      // The truth, from the rows.
      let truth = try await lab.clients[0].run(
        """
        SELECT extract(epoch FROM max(expires_date))::bigint * 1000 FROM purchases
        WHERE customer_id = 'me' AND revocation_date IS NULL
        """)[0].int64(0)
      #expect(steps.last?.after?.accessGranted == (truth != nil))
      if let truth { #expect(steps.last?.after?.expiresAt == rfc3339(milliseconds: truth)) }
      #expect(try await lab.number("SELECT version FROM customers") == Int64(steps.count))
    }
  }

  private struct Step: Decodable {
    struct State: Decodable, Equatable {
      let accessGranted: Bool
      let expiresAt: String?
    }
    struct Envelope: Decodable { let data: Step }

    let customerVersion: Int64
    let before: State?
    let after: State?

    init(_ event: Event) throws { self = try JSONText(event.body).decoded(as: Envelope.self).data }
  }

  @Test func `overlapping batches of three workers never wait for each other in a circle`() async throws {
    try await CommitLab.with(workers: 3) { lab in
      var random = SeededRandom(seed: 3)
      for round in 0..<20 {
        let requests = try (0..<120).map { number in
          let original = "\(Int.random(in: 0..<15, using: &random))"
          let transaction = original + ["", "8", "9"].randomElement(using: &random)!
          let customer = "c\(Int.random(in: 0..<8, using: &random))"
          let request = try CommitLab.request(
            "s\(round).\(number)", customer, transaction, of: original,
            expires: Double(Int.random(in: 1...90, using: &random)),
            signed: Double(Int.random(in: 0...500, using: &random)) / 1000)
          return (worker: Int.random(in: 0..<3, using: &random), request: request)
        }
        async let finalized = lab.finalize(requests)
        for number in 0..<10 {
          try await lab.workers[number % 3].postpone(requests[number].request.job, until: CommitLab.now)
        }
        #expect(try await finalized.count == 120)
      }
      #expect(try await lab.number("SELECT count(*) FROM synchronizations WHERE status = 'finalized'") == 2400)
      // Workers that insert the same row for the first time may meet. Nothing else may fail: PostgreSQL tells a circle
      // by a code of its own, 40P01.
      let allowed = ["23505", "40001"].map { PostgresError.Code.server(sqlState: $0) }
      for failure in lab.failures.all {
        let code = (failure as? PostgresError)?.code
        #expect(code.map(allowed.contains) == true, "\(failure)")
      }
    }
  }

  @Test func `a connection that ends in the middle of commits loses and repeats nothing`() async throws {
    try await CommitLab.with(workers: 2) { lab in
      try await LedgerDatabase.client(lab.endpoint) { killer in
        let requests = try (0..<600).map { number in
          let name = "\(number)"
          return (worker: number % 2, request: try CommitLab.request("s" + name, "c" + name, name, of: name))
        }
        let done = Task { @LoopActor in
          var all: [Finalized] = []
          for start in stride(from: 0, to: 600, by: 20) {
            all += try await lab.finalize(Array(requests[start..<(start + 20)]))
          }
          return all
        }
        var kills: Int64 = 0
        while kills < 10 {
          kills +=
            try await killer.run(
              """
              SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity
              WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'
              """)[0].int64(0) ?? 0
          if try await killer.run("SELECT count(*) FROM synchronizations")[0].int64(0) == 600 { break }
        }
        let all = try await done.value
        #expect(all.count == 600 && all.allSatisfy { $0.code == .purchaseSynchronized && $0.version == 1 })
        #expect(kills > 0 && !lab.failures.all.isEmpty)
      }
      for table in ["synchronizations", "purchases", "ownerships", "customers"] {
        #expect(try await lab.number("SELECT count(*) FROM \(table)") == 600, "\(table)")
      }
      #expect(try await lab.number("SELECT count(*) FROM events") == 1200)
    }
  }
}

/// A ledger that stands still.
@Suite(
  .breakingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(30))
)
@LoopActor
struct CommitPauseTests {
  @Test func `commits wait for a ledger that stands still, and go on`() async throws {
    try await CommitLab.with { lab in
      let servers = TestServers.current!
      _ = try await lab.workers[0].finalize(CommitLab.request("s0", "c0", "0", of: "0"))
      try await servers.pause(.postgres)
      let requests = try (1...50).map { number in
        (worker: 0, request: try CommitLab.request("s\(number)", "c\(number)", "\(number)", of: "\(number)"))
      }
      let done = Task { @LoopActor in try await lab.finalize(requests) }
      try await servers.resume(.postgres)
      #expect(try await done.value.allSatisfy { $0.version == 1 })
      #expect(try await lab.number("SELECT count(*) FROM synchronizations") == 51)
    }
  }

  /// An erasure of very many purchases, or a person with psql, may hold a customer's row for long.
  @Test func `a customer's locked row holds up no other customer's commit`() async throws {
    try await CommitLab.with(workers: 2) { lab in
      let alive = PostgresQuery(PostgresStatement("test: alive", "SELECT 1"))
      let locked = try await lab.clients[1].transaction { transaction in
        _ = try await transaction.query([
          PostgresQuery(
            PostgresStatement(
              "test: hold", "INSERT INTO customers (publisher_id, id, is_registered) VALUES (7, 'me', false)"))
        ])
        let requests = try ["me", "you", "he"].map { customer in
          try CommitLab.request("s-" + customer, customer, "1" + customer, of: "1" + customer)
        }
        // All come in one turn of the loop, so one commit takes them.
        let commits = requests.map { request in
          Task.immediate { @LoopActor in try await lab.workers[0].finalize(request) }
        }
        // The transaction that holds the row must not stand still for long.
        try await eventually("the others have committed") {
          _ = try await transaction.query([alive])
          return try await lab.number("SELECT count(*) FROM synchronizations") == 2
        }
        for commit in commits.dropFirst() { #expect(try await commit.value.version == 1) }
        return commits[0]
      }
      #expect(try await locked.value.version == 1)
      #expect(lab.failures.all.contains { ($0 as? PostgresError)?.code == .server(sqlState: "55P03") })
    }
  }
}
