import Domain
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import Testing

/// What the console finds in a ledger.
@Suite(.enabled(if: TestServers.current != nil, "\(TestServers.hint)"), .sharingServers)
@LoopActor
struct ConsoleFinderTests {
  private typealias Given = LedgerOfPurchases

  @Test func `each id is found, and only at the publishers that a person may see`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann", transaction: "101", as: "sync-1")
      _ = try await CustomerStore(ledger.postgres).put(7, Customer(id: "ann", email: "Ann@example.com"))
      let finder = ConsoleFinder(ledger.postgres)
      let events = try await ledger.texts("SELECT id FROM events ORDER BY time, id LIMIT 1")
      let event = try #require(events.first)
      let key = Given.key("100")
      let expected: [(String, ConsoleHit.Kind, CustomerId?, PurchaseKey?)] = [
        ("ann", .customer, "ann", nil), ("ann@EXAMPLE.com", .email, "ann", nil), ("101", .transaction, nil, key),
        ("100", .purchase, nil, key), ("sync-1", .synchronization, "ann", key), (event, .event, "ann", nil),
      ]
      for (text, kind, customer, purchase) in expected {
        let hits = try await finder.find(text, among: [3, 7], ConsoleHit.Kind.allCases)
        #expect(hits.map(\.kind) == [kind], "\(text)")
        #expect(hits.first?.customer == customer && hits.first?.purchase == purchase, "\(text): \(hits)")
        #expect(hits.first?.publisherId == 7)
        #expect(try await finder.find(text, among: [3], ConsoleHit.Kind.allCases) == [], "\(text)")
        #expect(try await finder.find(text, among: [], ConsoleHit.Kind.allCases) == [])
      }
      #expect(try await finder.find("nothing", among: [7], ConsoleHit.Kind.allCases) == [])
    }
  }

  @Test func `a timeline has what happened to a customer, and nobody else's`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann", as: "sync-1")
      try await ledger.register("200", for: "bob", as: "sync-2")
      let timeline = ConsoleTimeline(ledger.postgres)
      let found = await timeline.all(of: "ann")
      let moments = found.moments
      #expect(found.missing == [])
      #expect(moments.contains { $0.kind == .registration && $0.id == "sync-1" && $0.about == "100" })
      #expect(moments.contains { $0.kind == .ownership && $0.what == "registration" && $0.detail == "owns it" })
      #expect(moments.contains { $0.kind == .event })
      #expect(!moments.contains { $0.id == "sync-2" || $0.about == "200" })
      let times = moments.map(\.at)
      #expect(times == times.sorted(by: >))
      #expect(await timeline.all(of: "ann", limit: 1).moments.count == 1)
      #expect(await timeline.all(of: "ann", publisher: 3) == ConsoleTimeline.Reading())
      #expect(try await timeline.notifications(of: Given.key("100"), limit: 5, within: .seconds(60)) == [])
      let evidence = try await ConsoleEvidence.newest(
        of: Given.key("100"), limit: 5, within: .seconds(60), ledger.postgres)
      #expect(evidence.map(\.kind) == ["transaction"] && evidence.first?.source == "serverAPI")
    }
  }

  /// A customer with very many events must not hide the rest.
  @Test func `what takes too long is missing alone`() async throws {
    try await LedgerDatabase.with(isMigrated: true) { endpoint in
      try await LedgerDatabase.client(endpoint) { client in
        try await Given(client).register("100", for: "ann", as: "sync-1")
        let timeline = ConsoleTimeline(client)
        let ann = CustomerKey(publisherId: 7, id: "ann")
        // The connection prepares the statements, which the limit does not cover: the console's session has one too.
        #expect(await timeline.all(of: "ann").missing == [])
        try await LedgerDatabase.client(endpoint) { busy in
          try await busy.transaction { other in
            _ = try await other.query(PostgresQuery(.holdEvents))
            var failures = 0
            // The others have this time for their statements, also on a busy machine.
            let found = await timeline.moments(of: ann, limit: 50, until: .now + .seconds(8)) { _ in failures += 1 }
            #expect(found.missing == [.event, .attempt, .change] && (1...3).contains(failures))
            #expect(Set(found.moments.map(\.kind)) == [.ownership, .registration])
          }
        }
        #expect(await timeline.all(of: "ann").missing == [])
        let late = await timeline.moments(of: ann, limit: 50, until: .now) { Issue.record($0) }
        #expect(late.missing.count == ConsoleMoment.Kind.allCases.count && late.moments == [])
      }
    }
  }

  /// A registration that waits for its next run stands where it was received.
  @Test func `registrations under way hide none that is over`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann", as: "sync-1")
      for (number, wait) in [(1, 1000), (2, 500)] {
        let job = Job(
          synchronizationId: SynchronizationId("waiting-\(number)"), publisherId: 7, customerId: "ann",
          transactionId: "200", registeredAt: Given.now - Int64(wait) * Given.day)
        _ = try await ledger.postgres.run(
          PostgresQuery(
            .putOff, [.text(job.synchronizationId.text), .bytes(number == 1 ? job.encoded : Array("?".utf8))]))
      }
      let moments = await ConsoleTimeline(ledger.postgres).all(of: "ann").moments.filter { $0.kind == .registration }
      // What nobody can read stands at its next run.
      #expect(moments.map(\.id) == ["waiting-2", "sync-1", "waiting-1"])
      #expect(moments.last?.at == Given.now - 1000 * Given.day && moments.last?.detail == "retrying")
    }
  }
}

extension ConsoleTimeline {
  @LoopActor
  fileprivate func all(of customer: CustomerId, publisher: PublisherId = 7, limit: Int = 50) async -> Reading {
    await moments(
      of: CustomerKey(publisherId: publisher, id: customer), limit: limit, until: .now + .seconds(60)
    ) { Issue.record($0) }
  }
}

extension PostgresStatement {
  fileprivate static let holdEvents = PostgresStatement("hold events", "LOCK TABLE events IN ACCESS EXCLUSIVE MODE")

  fileprivate static let putOff = PostgresStatement(
    "put off in a test",
    """
    INSERT INTO synchronizations (publisher_id, id, transaction_id, customer_id, kind, status, job, due_at)
    VALUES (7, $1, '200', 'ann', 'registration', 'retrying', $2, now() + interval '3 years')
    """)
}
