import Domain
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import Testing

/// Releases as commits of the ledger.
@Suite(.enabled(if: TestServers.current != nil, "\(TestServers.hint)"), .sharingServers)
@LoopActor
struct PurchaseReleaseTests {
  private typealias Given = LedgerOfPurchases

  @Test func `one commit frees the purchase, tells the owner and writes the audit row`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann")
      let reader = PurchaseReader(ledger.postgres)
      let owner = try #require(try await reader.purchase(7, "100", in: ["Production"])?.purchase.owner)
      let release = PurchaseRelease(ledger.postgres)
      let released = try await release.release(
        Given.key("100"), publisher: Given.publisher(), now: Given.now + 5, traceparent: "trace"
      ).taken()
      let events = try #require(released)
      #expect(events.map(\.topic) == [EventTopic.entitlementsChanged])
      #expect(events.map(\.version) == [2])
      let record = try #require(try await reader.purchase(7, "100", in: ["Production"]))
      #expect(record.purchase.owner == nil && record.purchase.version == 2)
      #expect(record.ownerships.map(\.endedAt) == [Given.now + 5])
      #expect(
        try await Holdings(ledger.postgres).holdings(of: CustomerKey(publisherId: 7, id: "ann"))
          == CustomerPurchases(isKnown: true, version: 2))
      let stored = try await ledger.postgres.run(Event.read(events.map(\.id)))
      #expect(try Event.all(stored) == events)
      #expect(try await ledger.texts("SELECT event_id FROM outbox").contains(events[0].id.text))
      #expect(try await ledger.texts("SELECT offer_id FROM purchases") == ["S1"])
      #expect(
        try await ledger.texts("SELECT actor || ' ' || action || ' ' || subject FROM audit ORDER BY id")
          == ["publisher purchase.registered 100", "publisher purchase.released 100"])
      let detail = #"{"environment":"Production","subscriptionId":\#(owner.subscriptionId)}"#
      #expect(
        try await ledger.texts("SELECT convert_from(detail, 'UTF8') FROM audit ORDER BY id") == [detail, detail])
      _ = try await ledger.postgres.run(Event.confirmed(events.map(\.id)))
      #expect(try await !ledger.texts("SELECT event_id FROM outbox").contains(events[0].id.text))
      // The next customer gets it, under a new number.
      try await ledger.register("100", for: "ben", as: "later")
      let after = try #require(try await reader.purchase(7, "100", in: ["Production"]))
      #expect(after.purchase.owner?.customerId == "ben" && after.purchase.version == 3)
      #expect(after.purchase.owner?.subscriptionId != owner.subscriptionId)
    }
  }

  @Test func `a second release changes nothing, and an unknown purchase is none`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann")
      let release = PurchaseRelease(ledger.postgres)
      for isFirst in [true, false] {
        guard let answer = try await release.release(Given.key("100"), publisher: Given.publisher(), now: Given.now)
        else {
          Issue.record("the purchase is not known")
          continue
        }
        let isReleased = answer.isReleased
        let events = answer.takeTold().takeEvents()
        #expect(isReleased == isFirst && events.count == (isFirst ? 1 : 0))
      }
      #expect(try await ledger.number("SELECT count(*) FROM audit WHERE action = 'purchase.released'") == 1)
      #expect(try await ledger.number("SELECT version FROM purchases") == 2)
      // A repetition that names the first period leaves the next owner alone.
      try await ledger.register("100", for: "ben", as: "later")
      let periods = try await PurchaseReader(ledger.postgres).purchase(7, "100", in: ["Production"])?.ownerships ?? []
      let first = try #require(periods.first { $0.endedAt != nil }?.subscriptionId)
      let next = try #require(periods.first { $0.endedAt == nil }?.subscriptionId)
      for (period, expected) in [(first, 0), (next, 1)] {
        let events = try await release.release(
          Given.key("100"), publisher: Given.publisher(), subscriptionId: period, now: Given.now
        ).taken()
        #expect(events?.count == expected)
      }
      let unknown = try await release.release(
        Given.key("100", in: "Sandbox"), publisher: Given.publisher(), now: Given.now
      ).taken()
      #expect(unknown == nil)
    }
  }
}
