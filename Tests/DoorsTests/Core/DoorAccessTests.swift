import DomainSupport
import Formats
import Testing

@testable import Domain
@testable import Doors

/// No door decides about access: each shows what ``Access`` and ``Entitlements`` say.
struct DoorAccessTests {
  private static let now = TestPurchases.at(10)

  private static func provisional(until day: Double) -> Purchase {
    var purchase = TestPurchases.purchase(TestPurchases.transaction(expires: 30))
    purchase.provisionalUntil = TestPurchases.at(day)
    return purchase
  }

  /// Purchases, each with the rule that decides about it where only customer 42 may use the sandbox.
  private static let purchases: [(rule: AccessRule, purchase: Purchase)] = {
    let (bought, renewal) = (TestPurchases.transaction(expires: 30), TestPurchases.renewal(willRenew: true, signed: 7))
    let over = TestPurchases.transaction(expires: 9)
    func once(_ kind: ProductKind, _ product: ProductId, bought day: Double = 0) -> Purchase {
      TestPurchases.purchase(TestPurchases.transaction("1", of: "1", kind, product, bought: day))
    }
    return [
      (.subscriptionActive, TestPurchases.purchase(bought, renewal: renewal)),
      (
        .gracePeriod,
        TestPurchases.purchase(over, renewal: TestPurchases.renewal(grace: 16, isInRetry: true, signed: 9))
      ),
      (.billingRetry, TestPurchases.purchase(over, renewal: TestPurchases.renewal(isInRetry: true, signed: 9))),
      (.expired, TestPurchases.purchase(over)),
      (.revoked, TestPurchases.purchase(TestPurchases.transaction(expires: 30, revoked: 5))),
      (
        .reportedRevoked,
        TestPurchases.purchase(
          bought, renewal: renewal,
          status: ReportedStatus(code: ReportedStatus.revoked, date: TestPurchases.at(7)))
      ),
      (.upgraded, TestPurchases.purchase(TestPurchases.transaction(expires: 30, isUpgraded: true, signed: 4))),
      (.provisional, provisional(until: 11)), (.unconfirmed, provisional(until: 10)),
      (.sandboxNotAllowed, TestPurchases.purchase(TestPurchases.transaction(in: "Sandbox", expires: 30))),
      (.passActive, once(.nonRenewing, "pass")), (.expired, once(.nonRenewing, "pass", bought: -30)),
      (.ownedForever, once(.nonConsumable, "lifetime")), (.consumable, once(.consumable, "coins")),
    ]
  }()

  @Test func `every rule that decides by a purchase is here`() {
    let rules = AccessRules(offers: OfferCatalog(CleengLab.offers), allowsSandbox: false)
    for (rule, purchase) in Self.purchases {
      #expect(Access.of(purchase, rules: rules, now: Self.now).rule == rule)
    }
    let missing = Set(AccessRule.known.map(\.rawValue)).subtracting(Self.purchases.map(\.rule.rawValue))
    // A grant is no purchase. The last two need an offer of their own.
    #expect(missing == ["noPurchase", "offerUnknown", "granted", "keptAfterRefund", "familySharingRefused"])
  }

  @Test(arguments: [false, true])
  func `iaptic shows as expired what gives no access`(allowsSandbox: Bool) {
    let rules = AccessRules(offers: OfferCatalog(CleengLab.offers), allowsSandbox: allowsSandbox)
    for (rule, purchase) in Self.purchases {
      let access = Access.of(purchase, rules: rules, now: Self.now)
      let shown = IapticPurchase.of(purchase, rules: rules, now: Self.now)
      if rule == .unconfirmed {
        #expect(shown.isEmpty)
      } else {
        #expect(shown.map(\.isExpired) == [!access.isGranted], "\(rule.rawValue)")
        if let end = access.expiresAt { #expect(shown.map(\.expirationDate) == [end], "\(rule.rawValue)") }
      }
    }
  }

  /// The contract speaks of products, so the publisher needs no offers for it.
  @Test func `without an offer iaptic shows the term of the purchase`() {
    let rules = AccessRules(offers: OfferCatalog([]), allowsSandbox: false)
    for (rule, purchase) in Self.purchases where ![.sandboxNotAllowed, .unconfirmed].contains(rule) {
      let term = PurchaseTerm.of(purchase, offers: rules.offers, now: Self.now)
      let shown = IapticPurchase.of(purchase, rules: rules, now: Self.now)
      #expect(shown.map(\.isExpired) == [!term.isRunning] && shown.map(\.expirationDate) == [term.end])
      #expect(!Access.of(purchase, rules: rules, now: Self.now).isGranted)
    }
  }

  @Test func `what ended without a signed date has the date of the news`() {
    func end(_ rule: AccessRule) -> Int64? {
      let purchase = Self.purchases.first { $0.rule == rule }?.purchase
      return purchase.flatMap { PurchaseTerm.of($0, offers: OfferCatalog([]), now: Self.now).end }
    }
    #expect(end(.upgraded) == TestPurchases.at(4) && end(.reportedRevoked) == TestPurchases.at(7))
    #expect(end(.provisional) == TestPurchases.at(11) && end(.gracePeriod) == TestPurchases.at(16))
  }

  @Test func `one definition of a trial for all doors`() {
    typealias Case = (type: Int32?, discount: String?, price: Int64?, isTrial: Bool)
    let cases: [Case] = [
      (1, "FREE_TRIAL", 0, true), (3, "FREE_TRIAL", nil, true), (1, nil, 0, true), (2, nil, 0, true),
      (1, nil, nil, false), (1, nil, 990, false), (nil, nil, 0, false), (1, "PAY_UP_FRONT", 0, false),
    ]
    let publisher = CleengLab.publisher()
    for known in cases {
      var facts = TestPurchases.transaction(expires: 30)
      (facts.offerType, facts.offerDiscountType, facts.price) = (known.type, known.discount, known.price)
      let purchase = TestPurchases.purchase(facts)
      let cleeng = CleengSubscription(purchase, of: "42", publisher: publisher, now: Self.now)
      let iaptic = IapticPurchase.of(
        purchase, rules: publisher.accessRules(for: "42", owning: [purchase]), now: Self.now)
      #expect(cleeng.isInTrial == known.isTrial, "\(known)")
      #expect(iaptic.map(\.isTrialPeriod) == [known.isTrial], "\(known)")
      #expect(MbaasyPurchase(purchase, publisher: publisher, policy: DoorPolicy()).isInTrialPeriod == known.isTrial)
    }
  }
}
