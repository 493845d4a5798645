import Domain
import DomainSupport
import Testing

/// What an override of the publisher's `sandboxAccess` makes of purchases, by value. Times are days.
struct SandboxOverrideTests {
  private typealias T = TestPurchases

  private func access(
    _ purchase: Purchase, until end: Double?, allowsSandbox: Bool = false, now: Double = 10
  ) -> Access {
    Access.of(
      purchase,
      rules: AccessRules(offers: TestCommit.offers, allowsSandbox: allowsSandbox, sandboxUntil: end.map(T.at)),
      now: T.at(now))
  }

  private func subscription(in environment: Environment = "Sandbox", expires: Double = 30) -> Purchase {
    T.purchase(T.transaction(in: environment, expires: expires), owner: "me")
  }

  @Test func `access ends with the purchase or with the override, whichever is first`() {
    #expect(access(subscription(), until: 20).expiresAt == T.at(20))
    #expect(access(subscription(), until: 40).expiresAt == T.at(30))
    let forever = T.purchase(T.transaction("1", .nonConsumable, "lifetime", in: "Sandbox"), owner: "me")
    #expect(access(forever, until: 20).expiresAt == T.at(20) && access(forever, until: 20).isGranted)
    #expect(access(subscription(), until: 20).rule == .subscriptionActive)
  }

  @Test func `an override is in force until its millisecond`() {
    let end = 20.0
    let before = Access.of(
      subscription(), rules: AccessRules(offers: TestCommit.offers, allowsSandbox: false, sandboxUntil: T.at(end)),
      now: T.at(end) - 1)
    #expect(before.isGranted)
    let after = access(subscription(), until: end, now: end)
    #expect(!after.isGranted && after.rule == .sandboxNotAllowed && after.expiresAt == nil)
    #expect(access(subscription(), until: nil).rule == .sandboxNotAllowed)
  }

  @Test func `a purchase that is over keeps its own end`() {
    let over = access(subscription(expires: 5), until: 20)
    #expect(!over.isGranted && over.rule == .expired && over.expiresAt == T.at(5))
  }

  @Test func `what the file allows, and production, know no end of an override`() {
    for until in [nil, 5.0, 20.0] {
      #expect(access(subscription(), until: until, allowsSandbox: true).expiresAt == T.at(30))
      #expect(access(subscription(in: "Production"), until: until).expiresAt == T.at(30))
    }
  }

  @Test func `a grace period does not outlast an override`() {
    let purchase = T.purchase(
      T.transaction(in: "Sandbox", expires: 9),
      renewal: T.renewal(in: "Sandbox", willRenew: true, grace: 15, isInRetry: true, signed: 9), owner: "me")
    let short = access(purchase, until: 12)
    #expect(short.rule == .gracePeriod && short.expiresAt == T.at(12) && short.paidUntil(purchase) == T.at(9))
    #expect(access(purchase, until: 20).expiresAt == T.at(15))
  }

  @Test func `a grant that lasts longer decides`() {
    let grant = TestGrants.grant(until: 25)
    let rules = AccessRules(offers: TestCommit.offers, allowsSandbox: false, sandboxUntil: T.at(20))
    let found = Entitlements.of(purchases: [subscription()], grants: [grant], rules: rules, now: T.at(10))
    #expect(found.map(\.grant) == [grant.id] && found.map(\.expiresAt) == [T.at(25)])
  }

  @Test func `the rules of a customer come from the purchases that it owns`() {
    let publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: TestCommit.offers, webhooks: [])
    var (mine, yours) = (subscription(), subscription(in: "Production"))
    mine.owner?.sandboxUntil = 5
    yours.owner = Owner(customerId: "you", subscriptionId: 2, sandboxUntil: 9)
    #expect(publisher.accessRules(for: "me", owning: [yours, mine]).sandboxUntil == 5)
    #expect(publisher.accessRules(for: "other", owning: [yours, mine]).sandboxUntil == nil)
    #expect(publisher.accessRules(for: "me", owning: []).sandboxUntil == nil)
    #expect(publisher.accessRules(for: Owner(customerId: "you", subscriptionId: 2, sandboxUntil: 9)).sandboxUntil == 9)
  }

  @Test func `an override has a state, and is compared by what somebody wants`() {
    let me = TestCommit.customer("me")
    let open = SandboxOverride(customer: me, endsAt: 20, reason: .testing, note: "n", setBy: "a", setAt: 1)
    #expect(open.state(at: 19) == .open && open.state(at: 20) == .ended)
    var over = open
    over.endedAt = 20
    #expect(over.state(at: 19) == .ended && over.isSameWish(as: open) && over != open)
    over.endedAt = 19
    #expect(over.state(at: 25) == .withdrawn)
    let others = [
      SandboxOverride(customer: TestCommit.customer("you"), endsAt: 20, reason: .testing, note: "n", setAt: 1),
      SandboxOverride(customer: me, endsAt: 21, reason: .testing, note: "n", setAt: 1),
      SandboxOverride(customer: me, endsAt: 20, reason: .support, note: "n", setAt: 1),
      SandboxOverride(customer: me, endsAt: 20, reason: .testing, setAt: 1),
    ]
    #expect(others.allSatisfy { !$0.isSameWish(as: open) })
    #expect(open.isSameWish(as: SandboxOverride(customer: me, endsAt: 20, reason: .testing, note: "n", setAt: 9)))
  }
}
