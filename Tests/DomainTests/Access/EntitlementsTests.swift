import Domain
import DomainSupport
import Formats
import Testing

/// The entitlements of a customer with several purchases.
struct EntitlementsTests {
  private static let now = TestPurchases.at(50)
  private let rules = AccessRules(
    offers: OfferCatalog([
      Offer(id: "S1", productIds: ["monthly", "yearly"]), Offer(id: "L1", productIds: ["lifetime"]),
      Offer(id: "K", productIds: ["kelvin"]), Offer(id: "\u{212A}", productIds: ["sign"]),
    ]), allowsSandbox: true)

  private func entitlements(_ purchases: [Purchase], allowsSandbox: Bool = true) -> [OfferEntitlement] {
    let rules = AccessRules(offers: rules.offers, allowsSandbox: allowsSandbox)
    let found = Entitlements.of(purchases: purchases, grants: [], rules: rules, now: Self.now)
    #expect(Entitlements.of(purchases: purchases.reversed(), grants: [], rules: rules, now: Self.now) == found)
    return found
  }

  private func subscription(
    _ original: OriginalTransactionId, in environment: Environment = "Production", bought: Double = 20, expires: Double,
    revoked: Double? = nil, _ product: ProductId = "monthly"
  ) -> Purchase {
    TestPurchases.purchase(
      TestPurchases.transaction(
        of: original, .autoRenewable, product, in: environment, bought: bought, expires: expires, revoked: revoked),
      version: 4)
  }

  private func lifetime(
    _ original: OriginalTransactionId, in environment: Environment = "Production", _ product: ProductId = "lifetime"
  )
    -> Purchase
  {
    TestPurchases.purchase(TestPurchases.transaction(of: original, .nonConsumable, product, in: environment))
  }

  /// The original transactions that decide, one for each offer.
  private func deciding(_ purchases: Purchase...) -> [String] {
    entitlements(purchases).compactMap(\.purchase?.originalTransactionId.text)
  }

  @Test func `an entitlement has what its purchase gives`() {
    #expect(entitlements([]).isEmpty)
    let purchase = TestPurchases.purchase(
      TestPurchases.transaction(of: "8", in: "Sandbox", bought: 20, expires: 40),
      renewal: TestPurchases.renewal(of: "8", in: "Sandbox", willRenew: true, grace: 55, signed: 41), version: 4)
    #expect(
      entitlements([purchase]) == [
        OfferEntitlement(
          offerId: "S1", accessGranted: true, expiresAt: TestPurchases.at(55), willRenew: true, billingProblem: true,
          environment: "Sandbox", purchase: TestPurchases.key("8", in: "Sandbox"), version: 4, rule: .gracePeriod)
      ])
    #expect(
      entitlements([purchase], allowsSandbox: false) == [
        OfferEntitlement(
          offerId: "S1", accessGranted: false, environment: "Sandbox", purchase: TestPurchases.key("8", in: "Sandbox"),
          version: 4, rule: .sandboxNotAllowed)
      ])
  }

  @Test func `offers are ordered by their bytes`() {
    let found = entitlements([
      lifetime("1"), lifetime("2", "sign"), subscription("3", expires: 60), lifetime("4", "kelvin"),
    ])
    #expect(found.map(\.offerId) == ["K", "L1", "S1", "\u{212A}"])
  }

  @Test func `the purchase decides that gives access longest`() {
    #expect(deciding(subscription("1", expires: 60), subscription("2", expires: 61, "yearly")) == ["2"])
    #expect(deciding(subscription("1", expires: 60), subscription("2", expires: 61, revoked: 30)) == ["1"])
    // No end is longer than any end.
    #expect(deciding(subscription("1", expires: 9_000), lifetime("2", "monthly")) == ["2"])
    // Access in the sandbox is access, even if production has none.
    #expect(deciding(subscription("1", expires: 40), subscription("2", in: "Sandbox", expires: 60)) == ["2"])
    #expect(deciding(subscription("1", expires: 60), subscription("2", in: "Sandbox", expires: 61)) == ["2"])
  }

  @Test func `among equals the lesser key decides, and production comes first`() {
    #expect(deciding(subscription("2", expires: 60), subscription("1", in: "Sandbox", expires: 60)) == ["2"])
    #expect(deciding(subscription("2", expires: 60), subscription("10", expires: 60)) == ["10"])
    #expect(deciding(lifetime("2"), lifetime("1", in: "Sandbox")) == ["2"])
    #expect(deciding(lifetime("2", in: "Sandbox"), lifetime("1", in: "Sandbox")) == ["1"])
    #expect(deciding(subscription("2", expires: 40), subscription("1", in: "Sandbox", expires: 40)) == ["2"])
  }

  @Test func `without access, the latest purchase tells the reason`() {
    let refunded = subscription("1", bought: 10, expires: 70, revoked: 30)
    let found = entitlements([refunded, subscription("2", bought: 11, expires: 45)])
    #expect(found.map(\.rule) == [.expired] && found.compactMap(\.purchase?.originalTransactionId.text) == ["2"])
    #expect(found.first?.accessGranted == false && found.first?.expiresAt == TestPurchases.at(45))
    #expect(entitlements([refunded, subscription("2", bought: 9, expires: 45)]).map(\.rule) == [.revoked])
  }

  @Test func `a product without an offer is no entitlement`() {
    #expect(entitlements([lifetime("1", "unheard")]).isEmpty)
  }

  @Test(arguments: UInt64(1)...30)
  func `the order of the purchases does not matter`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let purchases = (0..<12).map { number in
      subscription(
        "\(number)", in: Bool.random(using: &random) ? "Production" : "Sandbox",
        bought: Double(Int.random(in: 0..<3, using: &random)), expires: Double(Int.random(in: 48..<53, using: &random)),
        revoked: Int.random(in: 0..<3, using: &random) == 0 ? 5 : nil,
        ["monthly", "lifetime", "kelvin"][Int.random(in: 0..<3, using: &random)])
    }
    let expected = entitlements(purchases)
    for _ in 0..<20 { #expect(entitlements(purchases.shuffled(using: &random)) == expected) }
  }
}
