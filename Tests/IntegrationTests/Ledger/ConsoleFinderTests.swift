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
      let moments = try await timeline.moments(of: CustomerKey(publisherId: 7, id: "ann"), limit: 50)
      #expect(moments.contains { $0.kind == .registration && $0.id == "sync-1" && $0.about == "100" })
      #expect(moments.contains { $0.kind == .ownership && $0.what == "registration" && $0.outcome == "owns it" })
      #expect(moments.contains { $0.kind == .event })
      #expect(!moments.contains { $0.id == "sync-2" || $0.about == "200" })
      let times = moments.compactMap(\.at)
      #expect(times == times.sorted(by: >))
      #expect(try await timeline.moments(of: CustomerKey(publisherId: 7, id: "ann"), limit: 1).count == 1)
      #expect(try await timeline.moments(of: CustomerKey(publisherId: 3, id: "ann"), limit: 50) == [])
      #expect(try await timeline.notifications(of: Given.key("100"), limit: 5) == [])
      let evidence = try await ConsoleEvidence.newest(of: Given.key("100"), limit: 5, ledger.postgres)
      #expect(evidence.map(\.kind) == ["transaction"] && evidence.first?.source == "serverAPI")
    }
  }
}
