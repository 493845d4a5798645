import Domain
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import Testing

/// What a person at the console does to a purchase, as commits of the ledger.
@Suite(.enabled(if: TestServers.current != nil, "\(TestServers.hint)"), .sharingServers)
@LoopActor
struct PurchaseTransferTests {
  private typealias Given = LedgerOfPurchases

  private func transfer(
    _ ledger: Given, to customer: CustomerId, as id: SynchronizationId, from period: Int64?,
    _ key: PurchaseKey = Given.key("100")
  ) async throws -> Finalized? {
    let job = Job(
      synchronizationId: id, publisherId: 7, customerId: customer, transactionId: "100", kind: .transfer,
      registeredAt: Given.now)
    return try await PurchaseTransfer(ledger.postgres).transfer(
      key, by: job, publisher: Given.publisher(), subscriptionId: period, person: "ada", now: Given.now + 5
    ).taken()
  }

  private func owner(_ ledger: Given) async throws -> Owner? {
    try await PurchaseReader(ledger.postgres).purchase(7, "100", in: ["Production"])?.purchase.owner
  }

  @Test func `one commit moves the purchase, tells both and names the person`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann")
      let period = try #require(try await owner(ledger)).subscriptionId
      let done = try #require(try await transfer(ledger, to: "ben", as: "t1", from: period))
      #expect(done.synchronization.result?.code == .purchaseOwnershipTransferred)
      #expect(done.synchronization.kind == .transfer && done.synchronization.status == .finalized)
      let told = done.events.filter { $0.topic == EventTopic.entitlementsChanged }
      #expect(Set(told.compactMap(\.customerId)) == ["ann", "ben"])
      let outbox = try await ledger.texts("SELECT event_id FROM outbox")
      #expect(done.events.allSatisfy { outbox.contains($0.id.text) })
      let after = try #require(try await owner(ledger))
      #expect(after.customerId == "ben" && after.subscriptionId != period)
      // The form is sent again, when the purchase has moved on.
      let again = try #require(try await transfer(ledger, to: "ben", as: "t1", from: period))
      #expect(again.synchronization == done.synchronization && again.events.isEmpty)
      // Another person's form names the owner before.
      #expect(try await transfer(ledger, to: "cleo", as: "t2", from: period) == nil)
      #expect(try await transfer(ledger, to: "cleo", as: "t3", from: nil) == nil)
      #expect(try await transfer(ledger, to: "cleo", as: "t4", from: period, Given.key("999")) == nil)
      #expect(try await owner(ledger) == after)
      #expect(
        try await ledger.texts("SELECT actor || ' ' || action || ' ' || subject FROM audit ORDER BY id")
          == ["publisher purchase.registered 100", "operator:ada purchase.transferred 100"])
      #expect(try await ledger.texts("SELECT id FROM synchronizations WHERE kind = 'transfer'") == ["t1"])
    }
  }

  @Test func `a purchase that nobody owns gets an owner, and one that is over stays`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann")
      _ = try await PurchaseRelease(ledger.postgres).release(
        Given.key("100"), publisher: Given.publisher(), by: "ada", now: Given.now
      ).taken()
      let done = try #require(try await transfer(ledger, to: "ben", as: "t1", from: nil))
      #expect(done.synchronization.result?.code == .purchaseOwnershipTransferred)
      let period = try #require(try await owner(ledger)).subscriptionId
      try await ledger.register("100", for: "ben", transaction: "101", endsIn: -1)
      try await ledger.register("100", for: "ben", endsIn: -1, as: "shorter")
      let over = try await ledger.postgres.run(
        "UPDATE transactions SET expires_date = purchase_date + interval '1 hour'")
      #expect(over.affected > 0)
      _ = try await ledger.postgres.run("UPDATE purchases SET expires_date = purchase_date + interval '1 hour'")
      let refused = try #require(try await transfer(ledger, to: "cleo", as: "t2", from: period))
      #expect(refused.synchronization.result?.code == .purchaseNotActive && refused.events.isEmpty)
      #expect(try await ledger.texts("SELECT id FROM synchronizations WHERE id = 't2'") == [])
      #expect(try await owner(ledger)?.customerId == "ben")
    }
  }

  @Test func `a transfer brings back nobody who was erased after its preview`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann")
      try await ledger.register("200", for: "ben")
      let period = try #require(try await owner(ledger)).subscriptionId
      _ = try await CustomerStore(ledger.postgres).erase(7, "ben", now: Given.now + 1)
      let refused = try #require(try await transfer(ledger, to: "ben", as: "t1", from: period))
      #expect(refused.synchronization.result?.code == .customerErased)
      #expect(try await owner(ledger)?.customerId == "ann")
      #expect(try await ledger.texts("SELECT id FROM customers WHERE id = 'ben'") == [])
    }
  }

  @Test func `a person's wish is the next look at the purchase, once`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann")
      let (timers, key) = (Timers(ledger.postgres), Given.key("100"))
      // The clock of these tests is not the ledger's.
      _ = try await ledger.postgres.run("UPDATE purchases SET due_at = now() + interval '9 days', looked_at = NULL")
      let before = try #require(try await timers.state(of: key))
      #expect(before.dueAt != nil && before.lookedAt == nil)
      #expect(try await timers.look(at: key, by: "ada") == .begun)
      #expect(try await timers.look(at: key, by: "ada") == .waits)
      #expect(try await timers.look(at: Given.key("999"), by: "ada") == .unknown)
      #expect(try await timers.state(of: Given.key("999")) == nil)
      let share = Timers.Share(AppKey(publisherId: 7, bundleId: "com.example"), most: 5)
      let taken = try await timers.takeDue(
        [share], of: [PublisherShare(publisherId: 7, most: 5)], limit: 5, unreadable: { Issue.record($0) })
      #expect(taken.map(\.key) == [key])
      #expect(try await timers.look(at: key, by: "ada") == .tooEarly)
      #expect(try await timers.state(of: key)?.lookedAt != nil)
      // The wish stays until Apple has answered.
      #expect(try await ledger.number("SELECT count(*) FROM purchases WHERE recheck_at IS NOT NULL") == 1)
      #expect(
        try await ledger.texts("SELECT actor || ' ' || action || ' ' || subject FROM audit WHERE actor <> 'publisher'")
          == ["operator:ada purchase.checked 100"])
    }
  }
}
