import Domain
import EventLoop
import Fleets
import JSON
import Postgres
import ServerSupport
import Testing

@testable import Ledger

/// Access by hand as commits of the ledger.
@Suite(.enabled(if: TestServers.current != nil, "\(TestServers.hint)"), .sharingServers)
@LoopActor
struct GrantsTests {
  private typealias Given = LedgerOfPurchases

  private nonisolated static let ann = CustomerKey(publisherId: 7, id: "ann")

  private nonisolated static func grant(
    _ number: Int = 1, to customer: CustomerKey = ann, of offer: OfferId = "S1", note: String? = nil,
    at now: Int64 = Given.now, until end: Int64 = Given.now + 20 * Given.day
  ) -> Grant {
    Grant(
      id: GrantId("00000000-0000-4000-8000-\(100_000_000_000 + number)"), customer: customer, offerId: offer,
      reason: .goodwill, note: note, createdAt: now, endsAt: end)
  }

  private nonisolated static func publisher(_ customers: Publisher.CustomerPolicy = .open) -> Publisher {
    Publisher(
      id: 7, customers: customers, tokenHashes: [], customerTokens: nil, apps: [],
      offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"]), Offer(id: "L1", productIds: ["lifetime"])]),
      webhooks: [])
  }

  private struct Done: Equatable {
    var grant: Grant
    var isNew: Bool
    var events: [Event]
  }

  private func taken(_ answer: consuming Grants.Answer?) -> Done? {
    guard let answer else { return nil }
    let (grant, isNew) = (answer.grant, answer.isNew)
    return Done(grant: grant, isNew: isNew, events: answer.takeTold().takeEvents())
  }

  private func give(
    _ ledger: Given, _ grant: Grant, _ limits: GrantLimits = GrantLimits(), _ publisher: Publisher = publisher()
  ) async throws -> Done? {
    taken(try await Grants(ledger.postgres).give(grant, publisher: publisher, limits: limits))
  }

  private func withdraw(_ ledger: Given, _ grant: Grant, at now: Int64 = Given.now + 5) async throws -> Done? {
    taken(
      try await Grants(ledger.postgres).withdraw(grant.id, of: grant.customer, publisher: Self.publisher(), now: now))
  }

  private func entitlements(_ ledger: Given, at now: Int64 = Given.now) async throws -> [OfferEntitlement] {
    let found = try await Holdings(ledger.postgres).holdings(of: Self.ann)
    return Entitlements.of(
      purchases: found.purchases, grants: found.grants,
      rules: Self.publisher().accessRules(for: "ann", owning: found.purchases), now: now)
  }

  @Test func `a grant that cannot be read is the failure of its customer only`() async throws {
    try await Given.with { ledger in
      let ben = CustomerKey(publisherId: 7, id: "ben")
      _ = try #require(try await give(ledger, Self.grant()))
      _ = try #require(try await give(ledger, Self.grant(2, to: ben)))
      _ = try await ledger.postgres.run("UPDATE grants SET reason = 'of a newer process' WHERE customer_id = 'ben'")
      let found = try await Holdings.read([Self.ann, ben]) { try await ledger.postgres.run($0) }
      #expect(try found[0].get().grants.map(\.customer) == [Self.ann])
      #expect(throws: UnreadableRecord.self) { try found[1].get() }
    }
  }

  @Test func `one commit gives, tells and writes the audit row, and a repetition finds it`() async throws {
    try await Given.with { ledger in
      let grant = Self.grant(note: "a note about Ann")
      let first = try #require(try await give(ledger, grant))
      #expect(first.grant == grant && first.isNew)
      #expect(first.events.map(\.topic) == [EventTopic.entitlementsChanged] && first.events.map(\.version) == [1])
      #expect(try await ledger.texts("SELECT event_id FROM outbox") == first.events.map(\.id.text))
      #expect(try await entitlements(ledger).map(\.grant) == [grant.id])
      // Later, and with the same wish.
      let again = try #require(try await give(ledger, Self.grant(note: "a note about Ann", at: Given.now + 9)))
      #expect(again == Done(grant: grant, isNew: false, events: []))
      for other in [Self.grant(note: "another"), Self.grant(to: CustomerKey(publisherId: 7, id: "ben"))] {
        await #expect(throws: GrantRefusal.idInUse) { try await give(ledger, other) }
      }
      #expect(try await ledger.number("SELECT count(*) FROM grants") == 1)
      #expect(try await ledger.number("SELECT count FROM grant_days") == 1)
      #expect(
        try await ledger.texts("SELECT actor || ' ' || action || ' ' || subject FROM audit") == [
          "publisher customer.granted ann"
        ])
      let detail = try await ledger.texts("SELECT convert_from(detail, 'UTF8') FROM audit")
      #expect(detail.first?.contains(grant.id.text) == true && detail.first?.contains("note") == false)
    }
  }

  @Test func `a publisher that puts its customers first gives none to a stranger`() async throws {
    try await Given.with { ledger in
      #expect(try await give(ledger, Self.grant(), GrantLimits(), Self.publisher(.registered)) == nil)
      #expect(try await ledger.number("SELECT count(*) FROM grants") == 0)
      _ = try await CustomerStore(ledger.postgres).put(7, Customer(id: "ann"))
      #expect(try await give(ledger, Self.grant(), GrantLimits(), Self.publisher(.registered))?.isNew == true)
    }
  }

  @Test func `a withdrawal keeps the row, and the second one changes nothing`() async throws {
    try await Given.with { ledger in
      let grant = Self.grant()
      _ = try await give(ledger, grant)
      #expect(try await withdraw(ledger, Self.grant(2)) == nil)
      #expect(try await withdraw(ledger, Self.grant(to: CustomerKey(publisherId: 7, id: "ben"))) == nil)
      let first = try #require(try await withdraw(ledger, grant))
      #expect(first.grant.withdrawnAt == Given.now + 5 && first.events.map(\.version) == [2])
      let second = try #require(try await withdraw(ledger, grant, at: Given.now + 7))
      #expect(second == Done(grant: first.grant, isNew: false, events: []))
      #expect(try await entitlements(ledger).isEmpty)
      #expect(try await Grants(ledger.postgres).list(Self.ann, limit: 5) == [first.grant])
      #expect(
        try await ledger.texts("SELECT action FROM audit ORDER BY id") == [
          "customer.granted", "customer.grantWithdrawn",
        ])
    }
  }

  @Test func `the newest grants come first, and a page goes on behind the one before`() async throws {
    try await Given.with { ledger in
      for number in 1...5 {
        // Two of them are of one moment.
        let at = Given.now + Int64(number / 2)
        _ = try await give(ledger, Self.grant(number, at: at), GrantLimits())
      }
      let grants = Grants(ledger.postgres)
      var (seen, place) = ([GrantId](), Grants.Place?.none)
      while let last = try await grants.list(Self.ann, after: place, limit: 2).last {
        seen += try await grants.list(Self.ann, after: place, limit: 2).map(\.id)
        place = Grants.Place(createdAt: last.createdAt, id: last.id)
      }
      #expect(seen == [4, 5, 2, 3, 1].map { Self.grant($0).id })
    }
  }

  @Test func `a grant that this process cannot read keeps no other from being taken`() async throws {
    try await Given.with { ledger in
      let grants = [Self.grant(1), Self.grant(2)]
      for grant in grants { _ = try await give(ledger, grant) }
      // A newer process knows this reason.
      _ = try await ledger.postgres.run("UPDATE grants SET due_at = now()")
      _ = try await ledger.postgres.run("UPDATE grants SET reason = 'later' WHERE id = '\(grants[0].id)'")
      var failures: [String] = []
      let taken = try await AccessTimers<Grant>(ledger.postgres).takeDue(
        [PublisherShare(publisherId: 7, most: 10)], limit: 10
      ) { failures.append("\($0)") }
      #expect(taken == [grants[1]])
      #expect(failures.count == 1 && failures[0].contains(grants[0].id.text))
    }
  }

  @Test func `a due grant is taken by one worker, and its end is told once`() async throws {
    try await Given.with { ledger in
      // By the ledger's clock, which is far behind the grant's dates, one of the two is over.
      let (over, open) = (Self.grant(1), Self.grant(2, of: "L1", until: Given.now + 30 * Given.day))
      for grant in [over, open] { _ = try await give(ledger, grant) }
      _ = try await ledger.postgres.run("UPDATE grants SET due_at = now() WHERE offer_id = 'S1'")
      let timers = AccessTimers<Grant>(ledger.postgres)
      let share = [PublisherShare(publisherId: 7, most: 10), PublisherShare(publisherId: 8, most: 10)]
      let taken = try await timers.takeDue(share, limit: 10) { Issue.record($0) }
      #expect(taken == [over])
      let again = try await timers.takeDue(share, limit: 10) { Issue.record($0) }
      #expect(again.isEmpty)
      // A worker whose clock is behind ends it all the same.
      let grants = Grants(ledger.postgres)
      let events = try #require(try await grants.end(over, publisher: Self.publisher(), now: Given.now).taken())
      #expect(events.map(\.version) == [3] && events.map(\.time) == [over.endsAt])
      #expect(try await grants.end(over, publisher: Self.publisher(), now: Given.now).taken() == nil)
      #expect(try await ledger.texts("SELECT id FROM grants WHERE due_at IS NULL") == [over.id.text])
      #expect(try await entitlements(ledger).map(\.offerId) == ["L1"])
      let listed = try await grants.list(Self.ann, limit: 5)
      #expect(Set(listed.map { $0.state(at: Given.now) }) == [.ended, .open])
    }
  }

  @Test func `the commits of purchases, of releases and of changed rules know the grants`() async throws {
    try await Given.with { ledger in
      _ = try await give(ledger, Self.grant())
      let publisher = Self.publisher()
      let done = try await ledger.register("100", for: "ann", publisher: publisher)
      #expect(done.events.filter { $0.topic == EventTopic.entitlementsChanged }.isEmpty)
      #expect(try await entitlements(ledger).map(\.rule) == [.granted])
      let released = try await PurchaseRelease(ledger.postgres).release(
        Given.key("100"), publisher: publisher, now: Given.now
      ).taken()
      #expect(released?.filter { $0.topic == EventTopic.entitlementsChanged }.isEmpty == true)
      // An offer that is gone takes its grants' access along, also from a customer who owns nothing.
      let reevaluation = Reevaluation(ledger.postgres, now: { Given.now })
      var told: [Event] = []
      for rules in [publisher, publisher, Given.publisher([:]), Given.publisher([:])] {
        try await reevaluation.run(Publishers([rules])) { told += $0.takeEvents() }
      }
      #expect(told.map(\.version) == [2])
    }
  }

  @Test(arguments: [(4, nil), (0, GrantRefusal.perDay), (nil, .openOfCustomer)] as [(Int?, GrantRefusal?)])
  func `two gateways at once give no more than the limits allow`(_ day: Int?, _ expected: GrantRefusal?) async throws {
    try await Given.with { ledger in
      let most = 3
      let limits = GrantLimits(openOfCustomer: day == nil ? most : 100, perDay: day == 0 ? most : 1000)
      let attempts = (1...12).map { number in
        let customer = day == nil ? Self.ann : CustomerKey(publisherId: 7, id: "c\(number % 5)")
        return Task { @LoopActor () -> GrantRefusal? in
          do {
            _ = try await give(ledger, Self.grant(number, to: customer), limits)
            return nil
          } catch {
            return error as? GrantRefusal ?? .alreadyOver
          }
        }
      }
      var outcomes: [GrantRefusal?] = []
      for attempt in attempts { outcomes.append(await attempt.value) }
      let given = outcomes.filter { $0 == nil }.count
      #expect(given == (expected == nil ? 12 : most))
      #expect(outcomes.allSatisfy { $0 == nil || $0 == expected })
      let rows = try await ledger.number("SELECT count(*) FROM grants")
      let counted = try await ledger.number("SELECT count FROM grant_days")
      #expect(rows == Int64(given) && counted == Int64(given))
    }
  }

  @Test func `a new day begins with nothing, and no older one comes back`() async throws {
    try await Given.with { ledger in
      let limits = GrantLimits(perDay: 1)
      _ = try await give(ledger, Self.grant(1), limits)
      await #expect(throws: GrantRefusal.perDay) { try await give(ledger, Self.grant(2), limits) }
      _ = try await ledger.postgres.run("UPDATE grant_days SET day = day - 1")
      #expect(try await give(ledger, Self.grant(2), limits)?.isNew == true)
      _ = try await ledger.postgres.run("UPDATE grant_days SET day = day + 1")
      await #expect(throws: GrantRefusal.perDay) { try await give(ledger, Self.grant(3), limits) }
    }
  }

  @Test func `an export has the grants, and an erasure takes them`() async throws {
    try await Given.with { ledger in
      let grant = Self.grant(note: "a note")
      _ = try await give(ledger, grant)
      let store = CustomerStore(ledger.postgres)
      let document = try #require(try await store.export(7, "ann", now: Given.now))
      let text = String(decoding: document, as: UTF8.self)
      #expect(text.contains(#""grants":[{"#) && text.contains(grant.id.text) && text.contains("a note"))
      #expect(text.contains("customer.granted"))
      #expect(try await store.erase(7, "ann", now: Given.now + 1)?.grants == 1)
      #expect(try await ledger.number("SELECT count(*) FROM grants") == 0)
      #expect(
        try await Grants(ledger.postgres).end(grant, publisher: Self.publisher(), now: Given.now).taken() == nil)
      // A customer who comes back gets versions that nobody has used.
      let back = try #require(try await give(ledger, Self.grant(2, at: Given.now + 2)))
      #expect(back.events.compactMap(\.version).allSatisfy { $0 > Given.now })
    }
  }
}
