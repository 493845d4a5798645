import Domain
import DomainSupport
import Testing

/// What grants give beside purchases.
struct GrantEntitlementTests {
  private typealias T = TestPurchases
  private let offers = OfferCatalog([
    Offer(id: "S1", productIds: ["monthly"]), Offer(id: "L1", productIds: ["lifetime"]),
  ])

  private func entitlements(
    _ purchases: [Purchase] = [], _ grants: Grant..., now: Double = 12
  ) -> [OfferEntitlement] {
    let rules = AccessRules(offers: offers, allowsSandbox: false)
    let found = Entitlements.of(purchases: purchases, grants: grants, rules: rules, now: T.at(now))
    #expect(Entitlements.of(purchases: purchases, grants: grants.reversed(), rules: rules, now: T.at(now)) == found)
    return found
  }

  private func paidUntil(_ purchases: [Purchase], _ grants: Grant...) -> Int64? {
    Entitlements.paidUntil(
      "S1", purchases: purchases, grants: grants, rules: AccessRules(offers: offers, allowsSandbox: false),
      now: T.at(12))
  }

  private func bought(until end: Double) -> Purchase {
    T.purchase(T.transaction(expires: end), version: 3)
  }

  @Test func `a grant alone gives its offer until its end`() {
    let found = entitlements([], TestGrants.grant(until: 20))
    #expect(found == [OfferEntitlement(offerId: "S1", grant: TestGrants.id(1), until: T.at(20))])
    let entitlement = found[0]
    #expect(entitlement.accessGranted && entitlement.rule == .granted && entitlement.expiresAt == T.at(20))
    #expect(entitlement.purchase == nil && entitlement.version == nil && entitlement.willRenew == nil)
    #expect(entitlement.environment == .production && !entitlement.billingProblem)
    #expect(entitlement.told.granted == true && entitlement.told.provisional == nil)
    // To the millisecond.
    let end = T.at(20)
    let rules = AccessRules(offers: offers, allowsSandbox: false)
    for (now, count) in [(end - 1, 1), (end, 0)] {
      #expect(
        Entitlements.of(purchases: [], grants: [TestGrants.grant(until: 20)], rules: rules, now: now).count == count)
    }
  }

  @Test func `what is over, withdrawn or for no offer of the publisher's gives nothing`() {
    #expect(entitlements([], TestGrants.grant(until: 12)).isEmpty)
    #expect(entitlements([], TestGrants.grant(until: 20, withdrawn: 11)).isEmpty)
    #expect(entitlements([], TestGrants.grant(until: 20, ended: 11)).isEmpty)
    #expect(entitlements([], TestGrants.grant(of: "gone", until: 20)).isEmpty)
  }

  @Test func `the later end wins, and the deciding source is named`() {
    func sources(_ found: [OfferEntitlement]) -> [String] {
      found.map { $0.grant?.text ?? $0.purchase?.originalTransactionId.text ?? "" }
    }
    let grant = TestGrants.grant(until: 20)
    #expect(sources(entitlements([bought(until: 19)], grant)) == [grant.id.text])
    // Among equals the purchase decides: it has evidence.
    #expect(sources(entitlements([bought(until: 20)], grant)) == ["1"])
    #expect(sources(entitlements([bought(until: 21)], grant)) == ["1"])
    #expect(sources(entitlements([bought(until: 11)], grant)) == [grant.id.text])
    let forever = T.purchase(T.transaction(of: "1", .nonConsumable, "monthly"))
    #expect(sources(entitlements([forever], grant)) == ["1"])
    // Of two grants the longer one; of equals the lesser id.
    #expect(sources(entitlements([], grant, TestGrants.grant(2, until: 21))) == [TestGrants.id(2).text])
    #expect(sources(entitlements([], grant, TestGrants.grant(2, until: 20))) == [TestGrants.id(1).text])
    #expect(
      sources(entitlements([], TestGrants.grant(3, of: "L1", until: 20), grant))
        == [3, 1].map { TestGrants.id($0).text })
  }

  @Test func `a purchase without access tells its reason again when the grant is over`() {
    let ended = bought(until: 11)
    #expect(entitlements([ended], TestGrants.grant(until: 13)).map(\.rule) == [.granted])
    #expect(entitlements([ended], TestGrants.grant(until: 13), now: 13).map(\.rule) == [.expired])
  }

  @Test func `a grant counts as paid until its end`() {
    #expect(paidUntil([], TestGrants.grant(until: 20)) == T.at(20))
    #expect(paidUntil([bought(until: 25)], TestGrants.grant(until: 20)) == T.at(25))
    // A purchase that has ended does not hide the grant, and forever stays forever.
    #expect(paidUntil([bought(until: 11)], TestGrants.grant(until: 20)) == T.at(20))
    let forever = T.purchase(T.transaction(of: "1", .nonConsumable, "monthly"))
    #expect(paidUntil([forever], TestGrants.grant(until: 20)) == nil)
    #expect(paidUntil([bought(until: 11)], TestGrants.grant(until: 12)) == T.at(11))
  }

  @Test func `a change of the source is a change for the customer`() {
    let before = entitlements([bought(until: 20)]).map(\.told)
    let after = entitlements([], TestGrants.grant(until: 20))
    #expect(EntitlementChange.between(told: before, now: after).count == 1)
    #expect(EntitlementChange.between(told: after.map(\.told), now: after).isEmpty)
    #expect(EntitlementChange.between(told: after.map(\.told), now: []).map(\.after) == [nil])
  }

  @Test func `what was told is read as it was written`() throws {
    let told = entitlements([], TestGrants.grant(until: 20)).map(\.told)
    let json = ToldEntitlement.json(of: told)
    #expect(try ToldEntitlement.list(from: json) == told)
    #expect(String(decoding: json, as: UTF8.self).contains(#""granted":true"#))
    let bought = ToldEntitlement.json(of: entitlements([bought(until: 20)]).map(\.told))
    #expect(!String(decoding: bought, as: UTF8.self).contains("granted\""))
  }

  @Test func `an id is a UUID`() {
    let id = GrantId(random: Array(repeating: 0xff, count: 16))
    #expect(id.text == "ffffffff-ffff-4fff-bfff-ffffffffffff" && GrantId(canonical: id.text) == id)
    #expect(GrantId(canonical: "FFFFFFFF-ffff-4fff-bfff-ffffffffffff") == id)
    for text in ["", "1", "00000000-0000-0000-0000-000000000000", id.text + "0"] {
      #expect(GrantId(canonical: text) == nil, "\(text)")
    }
  }

  @Test func `the rest of a day`() {
    #expect(GrantLimits.restOfDay(at: 0) == 86_400_000)
    #expect(GrantLimits.restOfDay(at: 86_399_999) == 1)
    #expect(GrantLimits.restOfDay(at: -1) == 1)
  }
}
