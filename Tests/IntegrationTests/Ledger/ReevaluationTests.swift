import Domain
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import Testing

/// Changed offers of a publisher become events.
@Suite(.enabled(if: TestServers.current != nil, "\(TestServers.hint)"), .sharingServers)
@LoopActor
struct ReevaluationTests {
  private typealias Given = LedgerOfPurchases
  private struct Crash: Error {}

  private let before = Given.publisher(["S1": ["monthly"], "Y1": ["yearly"]])
  /// The monthly product is of another offer now.
  private let after = Given.publisher(["S2": ["monthly"], "Y1": ["yearly"]])

  /// 120 customers with the monthly product, and one with the yearly one.
  private func fill(_ ledger: LedgerOfPurchases) async throws {
    let registrations = (1...120).map { number in
      Task { @LoopActor in _ = try await ledger.register("\(number)", for: "c\(number)", publisher: before) }
    }
    for registration in registrations { try await registration.value }
    try await ledger.register("900", for: "yearly", product: "yearly", publisher: before)
  }

  private func reevaluation(_ ledger: LedgerOfPurchases) -> Reevaluation {
    Reevaluation(ledger.postgres, now: { Given.now + 1 })
  }

  /// Runs re-evaluations and returns their events.
  private func events(
    _ reevaluation: Reevaluation, _ publisher: Publisher, failingAfter limit: Int = .max
  ) async throws -> [Event] {
    var events: [Event] = []
    try await reevaluation.run(Publishers([publisher])) { batch in
      events += batch.takeEvents()
      if events.count >= limit { throw Crash() }
    }
    return events
  }

  @Test func `each changed customer is told once`() async throws {
    try await Given.with { ledger in
      try await fill(ledger)
      let worker = reevaluation(ledger)
      // The commits have told everything by these rules.
      #expect(try await events(worker, before).isEmpty)
      #expect(try await events(worker, before).isEmpty)
      #expect(try await events(worker, after).isEmpty, "a difference must be there twice")
      let told = try await events(worker, after)
      // Each loses the offer S1 and gets S2.
      #expect(told.count == 240)
      #expect(Set(told.compactMap(\.customerId)) == Set((1...120).map { "c\($0)" }))
      #expect(told.allSatisfy { $0.version == 2 && $0.topic == EventTopic.entitlementsChanged })
      #expect(try await ledger.number("SELECT count(*) FROM events WHERE topic = 'entitlementsChanged'") == 121 + 240)
      #expect(try await ledger.number("SELECT count(*) FROM outbox") == 242 + 240)
      #expect(try await events(worker, after).isEmpty)
      #expect(try await ledger.number("SELECT count(*) FROM publisher_rules WHERE evaluated_through IS NULL") == 1)
    }
  }

  @Test func `a pass that ends earlier by the new rules is looked at then`() async throws {
    func publisher(_ days: Int) -> Publisher {
      Publisher(
        id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
        offers: OfferCatalog([Offer(id: "P1", productIds: ["pass"], accessDays: days)]), sandboxAccess: .everybody,
        webhooks: [])
    }
    try await Given.with { ledger in
      let worker = reevaluation(ledger)
      try await ledger.register("1", for: "me", product: "pass", kind: .nonRenewing, publisher: publisher(20))
      _ = try await events(worker, publisher(20))
      let due = "SELECT (extract(epoch FROM due_at) * 1000)::bigint FROM purchases"
      // It was bought a day ago. A look may come a hundredth of the wait later.
      let end = Given.now + 19 * Given.day
      #expect(try await ledger.number(due).map { (end...(end + 60_000)).contains($0) } == true)
      for days in [5, 20] {
        _ = try await events(worker, publisher(days))
        _ = try await events(worker, publisher(days))
        // A longer pass leaves the timer. The look sets it right.
        let end = Given.now + 4 * Given.day
        #expect(try await ledger.number(due).map { (end...(end + 60_001)).contains($0) } == true)
      }
    }
  }

  @Test func `a worker goes on where another one stopped`() async throws {
    try await Given.with { ledger in
      try await fill(ledger)
      _ = try await events(reevaluation(ledger), before)
      let first = reevaluation(ledger)
      _ = try await events(first, after)
      await #expect(throws: Crash.self) { _ = try await events(first, after, failingAfter: 1) }
      // The first batch of 100 customers is committed.
      #expect(try await ledger.number("SELECT count(*) FROM events WHERE version = 2") == 200)
      #expect(try await ledger.texts("SELECT evaluated_through FROM publisher_rules").count == 1)
      let rest = try await events(reevaluation(ledger), after)
      #expect(rest.count == 40)
      #expect(try await ledger.number("SELECT count(*) FROM events WHERE version = 2") == 240)
      #expect(try await ledger.number("SELECT count(*) FROM customers WHERE version > 2") == 0)
    }
  }

  @Test func `a row that cannot be read stops its publisher only`() async throws {
    func other(_ offers: [OfferId: [ProductId]]) -> Publisher {
      Publisher(
        id: 8, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
        offers: OfferCatalog(offers.map { Offer(id: $0.key, productIds: $0.value) }), sandboxAccess: .everybody,
        webhooks: [])
    }
    try await Given.with { ledger in
      try await ledger.register("1", for: "c1", publisher: before)
      try await ledger.register("2", for: "d1", publisher: other(["S1": ["monthly"]]))
      let worker = reevaluation(ledger)
      try await worker.run(Publishers([before, other(["S1": ["monthly"]])])) { _ = $0.takeEvents() }
      _ = try await ledger.postgres.run(
        """
        INSERT INTO grants (publisher_id, id, customer_id, offer_id, reason, created_at, ends_at, due_at)
        VALUES (7, '00000000-0000-4000-8000-000000000001', 'c1', 'S2', 'later', to_timestamp(0), to_timestamp(9e9),
          to_timestamp(9e9))
        """)
      let publishers = Publishers([after, other(["S2": ["monthly"]])])
      var told: [Event] = []
      try await worker.run(publishers) { told += $0.takeEvents() }
      #expect(told.isEmpty, "a difference must be there twice")
      for _ in 1...2 {
        await #expect(throws: UnreadableRecord.self) { try await worker.run(publishers) { told += $0.takeEvents() } }
      }
      #expect(Set(told.map(\.publisherId)) == [8] && told.count == 2)
      _ = try await ledger.postgres.run("UPDATE grants SET reason = 'promo'")
      try await worker.run(publishers) { told += $0.takeEvents() }
      #expect(Set(told.map(\.publisherId)) == [7, 8])
    }
  }

  @Test func `two workers do not do the same`() async throws {
    try await Given.with { ledger in
      try await fill(ledger)
      _ = try await events(reevaluation(ledger), before)
      let workers = [reevaluation(ledger), reevaluation(ledger)]
      for worker in workers { _ = try await events(worker, after) }
      let runs = workers.map { worker in Task { @LoopActor in try await events(worker, after).count } }
      var counts = 0
      for run in runs { counts += try await run.value }
      // The second one may have skipped a batch of the first one's; a later look finishes.
      let rest = try await events(reevaluation(ledger), after).count
      #expect(counts + rest == 240)
      #expect(try await ledger.number("SELECT count(*) FROM customers WHERE version > 2") == 0)
    }
  }
}
