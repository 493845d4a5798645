import Domain
import DomainSupport
import Testing

/// The access that a purchase gives, to the millisecond.
struct AccessTests {
  private static let now = TestPurchases.at(50)
  private let offers = OfferCatalog([
    Offer(id: "S1", productIds: ["monthly"]), Offer(id: "P1", productIds: ["pass"], accessDays: 30),
    Offer(id: "L1", productIds: ["lifetime"]),
  ])

  private func access(_ purchase: Purchase, allowsSandbox: Bool = false, now: Int64 = now) -> Access {
    .of(purchase, rules: AccessRules(offers: offers, allowsSandbox: allowsSandbox), now: now)
  }

  private func subscription(expires: Double?, renewal: RenewalFacts? = nil, status: Int32? = nil) -> Purchase {
    TestPurchases.purchase(
      TestPurchases.transaction(bought: 20, expires: expires, signed: 49), renewal: renewal,
      status: status.map { ReportedStatus(code: $0, date: TestPurchases.at(49)) })
  }

  private func granted(_ rule: AccessRule, _ offer: OfferId, _ product: ProductId, until end: Int64? = nil) -> Access {
    Access(
      isGranted: true, offerId: offer, expiresAt: end, environment: "Production", productId: product, rule: rule)
  }

  private func refused(_ rule: AccessRule, since end: Int64? = nil) -> Access {
    Access(
      isGranted: false, offerId: "S1", expiresAt: end, environment: "Production", productId: "monthly", rule: rule)
  }

  // MARK: Subscriptions

  @Test func `a subscription ends with its millisecond`() {
    let (purchase, end) = (subscription(expires: 60), TestPurchases.at(60))
    #expect(access(purchase, now: end - 1) == granted(.subscriptionActive, "S1", "monthly", until: end))
    #expect(access(purchase, now: end) == refused(.expired, since: end))
    #expect(access(purchase, now: end + 1) == refused(.expired, since: end))
    #expect(access(subscription(expires: nil)) == refused(.expired))
  }

  @Test func `a grace period prolongs and never shortens`() {
    let end = TestPurchases.at(46)
    let inGrace = subscription(expires: 40, renewal: TestPurchases.renewal(grace: 46, signed: 41))
    var expected = granted(.gracePeriod, "S1", "monthly", until: end)
    expected.billingProblem = true
    #expect(access(inGrace, now: end - 1) == expected)
    #expect(access(inGrace, now: TestPurchases.at(40)) == expected)
    #expect(access(inGrace, now: TestPurchases.at(40) - 1).rule == .subscriptionActive)
    #expect(access(inGrace, now: end) == refused(.expired, since: end))
    let paid = subscription(expires: 60, renewal: TestPurchases.renewal(grace: 46, signed: 41))
    #expect(access(paid) == granted(.subscriptionActive, "S1", "monthly", until: TestPurchases.at(60)))
  }

  /// A renewal info that Apple signed for the period before it.
  @Test func `a grace period of an earlier period gives nothing`() {
    let purchase = subscription(expires: 40, renewal: TestPurchases.renewal(willRenew: true, grace: 90, signed: 18))
    #expect(access(purchase) == refused(.expired, since: TestPurchases.at(40)))
  }

  @Test func `billing retry without a grace period gives no access, and says so`() {
    func retry(_ grace: Double?, expires: Double = 40) -> Access {
      access(
        subscription(
          expires: expires,
          renewal: TestPurchases.renewal(willRenew: true, grace: grace, isInRetry: true, signed: 41)))
    }
    var expected = refused(.billingRetry, since: TestPurchases.at(40))
    (expected.billingProblem, expected.willRenew) = (true, true)
    #expect(retry(nil) == expected)
    expected.expiresAt = TestPurchases.at(46)
    #expect(retry(46) == expected)
    #expect(retry(55).rule == .gracePeriod && retry(55).billingProblem && retry(55).isGranted)
    // The payment of an earlier renewal; this period is paid.
    #expect(retry(nil, expires: 60).rule == .subscriptionActive && !retry(nil, expires: 60).billingProblem)
  }

  @Test func `it says whether the subscription renews`() {
    for willRenew in [true, false, nil] {
      let renewal = TestPurchases.renewal(willRenew: willRenew, signed: 30)
      #expect(access(subscription(expires: 60, renewal: renewal)).willRenew == willRenew)
      #expect(access(subscription(expires: 40, renewal: renewal)).willRenew == willRenew)
    }
    // Signed for an earlier period.
    let old = TestPurchases.renewal(willRenew: false, signed: 18)
    #expect(access(subscription(expires: 60, renewal: old)).willRenew == nil)
  }

  @Test func `a transaction that the customer upgraded away from gives nothing`() {
    let facts = TestPurchases.transaction(bought: 20, expires: 60, isUpgraded: true)
    #expect(access(TestPurchases.purchase(facts)) == refused(.upgraded))
    let (next, end) = (TestPurchases.transaction("2", .autoRenewable, "pass", bought: 30, expires: 60), 60.0)
    #expect(
      access(TestPurchases.purchase(facts, next))
        == granted(.subscriptionActive, "P1", "pass", until: TestPurchases.at(end)))
  }

  // MARK: Other products

  @Test func `days of access end a non-renewing product only`() {
    func pass(_ kind: ProductKind, _ product: ProductId) -> Purchase {
      TestPurchases.purchase(TestPurchases.transaction("1", kind, product, bought: 10))
    }
    let end = TestPurchases.at(40)
    #expect(access(pass(.nonRenewing, "pass"), now: end - 1) == granted(.passActive, "P1", "pass", until: end))
    let over = access(pass(.nonRenewing, "pass"), now: end)
    #expect(!over.isGranted && over.rule == .expired && over.expiresAt == end && over.offerId == "P1")
    #expect(access(pass(.nonRenewing, "lifetime")) == granted(.passActive, "L1", "lifetime"))
    #expect(access(pass(.nonConsumable, "pass")) == granted(.ownedForever, "P1", "pass"))
    #expect(access(pass(.consumable, "pass")) == granted(.consumable, "P1", "pass"))
  }

  /// Apple sets no end for these purchases, and no renewal; if it sent either, it would not count.
  @Test(arguments: [ProductKind.nonConsumable, .consumable, .nonRenewing])
  func `only subscriptions expire`(kind: ProductKind) {
    let facts = TestPurchases.transaction("1", kind, "lifetime", expires: 1, isUpgraded: true)
    let renewal = TestPurchases.renewal(willRenew: true, grace: 2, isInRetry: true, signed: 3)
    let access = access(TestPurchases.purchase(facts, renewal: renewal))
    #expect(access.isGranted && access.expiresAt == nil && access.willRenew == nil && !access.billingProblem)
  }

  @Test func `a pass that was bought at the end of time does not end the process`() {
    var facts = TestPurchases.transaction("1", .nonRenewing, "pass")
    facts.purchaseDate = .max
    #expect(access(TestPurchases.purchase(facts)).expiresAt == .max)
  }

  // MARK: Revocation

  @Test(arguments: ProductKind.allCases)
  func `a revocation comes first`(kind: ProductKind) {
    for date in [0.0, 49, 60] {
      let facts = TestPurchases.transaction("1", kind, bought: 20, expires: 70, revoked: date)
      #expect(access(TestPurchases.purchase(facts)) == refused(.revoked, since: TestPurchases.at(date)))
    }
    let unknown = TestPurchases.transaction("1", kind, "unheard", bought: 20, expires: 21, revoked: 21)
    #expect(access(TestPurchases.purchase(unknown)).rule == .revoked)
    let reported = TestPurchases.purchase(
      TestPurchases.transaction("1", kind, bought: 20, expires: 70, signed: 49),
      status: ReportedStatus(code: 5, date: TestPurchases.at(49)))
    #expect(access(reported) == refused(.reportedRevoked))
  }

  @Test func `a status only takes away`() {
    for code: Int32 in 1...4 {
      #expect(access(subscription(expires: 60, status: code)).isGranted)
      #expect(access(subscription(expires: 40, status: code)).rule == .expired)
    }
    #expect(access(subscription(expires: 60, status: 5)).rule == .reportedRevoked)
    #expect(access(subscription(expires: 40, status: 5)).rule == .reportedRevoked)
  }

  @Test func `a reversed refund gives access again`() {
    var purchase = subscription(expires: 60, status: 5)
    #expect(!access(purchase).isGranted)
    let again = TestPurchases.transaction(bought: 20, expires: 60, signed: 49.5)
    purchase.merge(TestPurchases.evidence(.transaction(again)))
    #expect(access(purchase).isGranted)
  }

  // MARK: Environments and offers

  @Test(arguments: ProductKind.allCases)
  func `a purchase from the sandbox gives nothing where it is not allowed, whatever else is true of it`(
    kind: ProductKind
  ) {
    for (product, expires, revoked) in [
      ("monthly", 60.0, nil), ("monthly", 40, nil), ("monthly", 60, 30), ("unheard", 60, nil),
    ] as [(ProductId, Double, Double?)] {
      let facts = TestPurchases.transaction(
        "1", kind, product, in: "Sandbox", bought: 20, expires: expires, revoked: revoked)
      let access = access(TestPurchases.purchase(facts))
      #expect(access.rule == .sandboxNotAllowed && !access.isGranted && access.environment == "Sandbox")
      #expect(access.expiresAt == nil && access.productId == product)
    }
  }

  @Test func `only production needs no permission`() {
    for (environment, isGranted) in [
      ("Production", true), ("Sandbox", false), ("Xcode", false), ("production", false), ("", false),
    ] as [(Environment, Bool)] {
      let purchase = TestPurchases.purchase(
        TestPurchases.transaction("1", .nonConsumable, "lifetime", in: environment))
      #expect(access(purchase).isGranted == isGranted)
      #expect(access(purchase, allowsSandbox: true).isGranted)
    }
  }

  @Test func `a product without an offer gives nothing`() {
    func product(_ product: ProductId, _ kind: ProductKind, expires: Double? = nil) -> Access {
      access(TestPurchases.purchase(TestPurchases.transaction("1", kind, product, expires: expires)))
    }
    for kind in [ProductKind.nonConsumable, .consumable, .nonRenewing] {
      let access = product("unheard", kind)
      #expect(!access.isGranted && access.rule == .offerUnknown && access.offerId == nil && access.expiresAt == nil)
    }
    #expect(product("unheard", .autoRenewable, expires: 60).rule == .offerUnknown)
    #expect(!product("unheard", .autoRenewable, expires: 60).billingProblem)
    #expect(product("unheard", .autoRenewable, expires: 40).rule == .expired)
    // Product ids are compared by their bytes.
    #expect(product("Lifetime", .nonConsumable).rule == .offerUnknown)
  }

  @Test func `every rule is known`() {
    #expect(Set(AccessRule.known).count == AccessRule.known.count)
    #expect(AccessRule.known.count == 18)
  }

  // MARK: Reuse

  @Test func `an answer serves others no longer than its access`() {
    func reuse(_ purchase: Purchase, now: Int64 = Self.now) -> Duration {
      Access.reuse(of: purchase, atMost: .seconds(3), now: now)
    }
    let end = TestPurchases.at(60)
    #expect(reuse(subscription(expires: 60)) == .seconds(3))
    #expect(reuse(subscription(expires: 60), now: end - 1000) == .seconds(1))
    #expect(reuse(subscription(expires: 60), now: end) == .zero)
    #expect(reuse(subscription(expires: nil)) == .zero)
    let inGrace = subscription(expires: 40, renewal: TestPurchases.renewal(grace: 60, signed: 41))
    #expect(reuse(inGrace, now: end - 2000) == .seconds(2))
    #expect(reuse(TestPurchases.purchase(TestPurchases.transaction("1", .nonRenewing, "pass"))) == .zero)
    for kind in [ProductKind.consumable, .nonConsumable] {
      #expect(reuse(TestPurchases.purchase(TestPurchases.transaction("1", kind))) == .seconds(3))
    }
  }
}
