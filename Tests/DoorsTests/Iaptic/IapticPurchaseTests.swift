import DomainSupport
import JSON
import Testing

@testable import Domain
@testable import Doors

/// A purchase as iaptic shows it, by value.
struct IapticPurchaseTests {
  private let rules = AccessRules(
    offers: OfferCatalog([Offer(id: "P1", productIds: ["pass"], accessDays: 10)]), allowsSandbox: true)

  private func shown(_ purchase: Purchase, now: Double = 10) -> [IapticPurchase] {
    IapticPurchase.of(purchase, rules: rules, now: TestPurchases.at(now))
  }

  private func only(_ purchase: Purchase, now: Double = 10) throws -> IapticPurchase {
    let all = shown(purchase, now: now)
    #expect(all.count == 1)
    return try #require(all.first)
  }

  @Test func `a running subscription`() throws {
    let first = TestPurchases.transaction("1", bought: 0, expires: 30)
    var second = TestPurchases.transaction("2", bought: 30, expires: 60)
    (second.originalPurchaseDate, second.quantity) = (TestPurchases.at(0), 1)
    (second.price, second.currency) = (9990, "USD")
    var renewal = TestPurchases.renewal(willRenew: true, signed: 31)
    renewal.priceIncreaseStatus = 0
    let purchase = try only(TestPurchases.purchase(first, second, renewal: renewal), now: 40)
    #expect(purchase.productId == "monthly" && purchase.purchaseId == "1" && purchase.transactionId == "2")
    #expect(purchase.purchaseDate == TestPurchases.at(0) && purchase.lastRenewalDate == TestPurchases.at(30))
    #expect(purchase.expirationDate == TestPurchases.at(60) && !purchase.isExpired && !purchase.isSandbox)
    #expect(purchase.renewalIntent == .renew && purchase.cancelationReason == .none)
    #expect(purchase.priceConsentStatus == .notified && purchase.renewalIntentChangeDate == nil)
    #expect(purchase.amountMicros == 9_990_000 && purchase.currency == "USD" && purchase.quantity == 1)
    #expect(!purchase.isTrialPeriod && !purchase.isIntroPeriod && !purchase.isBillingRetryPeriod)
  }

  @Test func `the first period has no renewal`() throws {
    let purchase = try only(TestPurchases.purchase(TestPurchases.transaction(expires: 30)))
    #expect(purchase.lastRenewalDate == nil && purchase.purchaseDate == TestPurchases.at(0))
    #expect(purchase.renewalIntent == nil)
  }

  @Test func `expired, in retry, and in grace`() throws {
    let period = TestPurchases.transaction(expires: 30)
    let lapsed = TestPurchases.purchase(period, renewal: TestPurchases.renewal(willRenew: false, signed: 29))
    #expect(try only(lapsed, now: 31).isExpired)
    #expect(try only(lapsed, now: 31).renewalIntent == .lapse)
    #expect(try only(lapsed, now: 31).cancelationReason == .customer)
    let retry = TestPurchases.purchase(
      period, renewal: TestPurchases.renewal(willRenew: true, isInRetry: true, signed: 30))
    #expect(try only(retry, now: 31).isExpired && only(retry, now: 31).isBillingRetryPeriod)
    let grace = TestPurchases.purchase(
      period, renewal: TestPurchases.renewal(willRenew: true, grace: 36, isInRetry: true, signed: 30))
    let inGrace = try only(grace, now: 31)
    #expect(!inGrace.isExpired && inGrace.isBillingRetryPeriod && inGrace.expirationDate == TestPurchases.at(36))
    #expect(inGrace.cancelationReason == .systemBillingError)
    #expect(try only(grace, now: 37).isExpired)
  }

  @Test func `what Apple took back has ended then`() throws {
    let refunded = try only(TestPurchases.purchase(TestPurchases.transaction(expires: 30, revoked: 5)))
    #expect(refunded.isExpired && refunded.expirationDate == TestPurchases.at(5))
    let once = TestPurchases.transaction("1", of: "1", .nonConsumable, "lifetime", revoked: 5)
    #expect(try only(TestPurchases.purchase(once)).isExpired)
    let reported = TestPurchases.purchase(
      TestPurchases.transaction(expires: 30), renewal: TestPurchases.renewal(willRenew: true, signed: 7),
      status: ReportedStatus(code: ReportedStatus.revoked, date: TestPurchases.at(7)))
    #expect(try only(reported).isExpired && only(reported).expirationDate == TestPurchases.at(7))
  }

  @Test func `one-time products and passes`() throws {
    let lifetime = try only(
      TestPurchases.purchase(TestPurchases.transaction("1", of: "1", .nonConsumable, "lifetime")))
    #expect(!lifetime.isExpired && lifetime.expirationDate == nil && lifetime.renewalIntent == nil)
    let pass = TestPurchases.purchase(TestPurchases.transaction("1", of: "1", .nonRenewing, "pass"))
    #expect(try only(pass, now: 9).expirationDate == TestPurchases.at(10) && !only(pass, now: 9).isExpired)
    #expect(try only(pass, now: 10).isExpired)
    let unknown = TestPurchases.purchase(TestPurchases.transaction("1", of: "1", .nonRenewing, "other"))
    #expect(try only(unknown, now: 99).expirationDate == nil && !only(unknown, now: 99).isExpired)
  }

  @Test(
    arguments: [
      (1, "FREE_TRIAL", true, false), (1, "PAY_AS_YOU_GO", false, true), (1, "PAY_UP_FRONT", false, true),
      (1, nil, false, true), (2, "PAY_AS_YOU_GO", false, false), (3, "FREE_TRIAL", true, false),
      (nil, nil, false, false),
    ] as [(Int32?, String?, Bool, Bool)])
  func `offers`(type: Int32?, discount: String?, isTrial: Bool, isIntro: Bool) throws {
    var facts = TestPurchases.transaction(expires: 30)
    (facts.offerType, facts.offerDiscountType, facts.offerIdentifier) = (type, discount, "SUMMER")
    let purchase = try only(TestPurchases.purchase(facts))
    #expect(purchase.isTrialPeriod == isTrial && purchase.isIntroPeriod == isIntro && purchase.discountId == "SUMMER")
  }

  @Test func `a purchase with several products shows each of them`() {
    let monthly = TestPurchases.transaction("1", bought: 0, expires: 30, isUpgraded: true)
    let again = TestPurchases.transaction("0", bought: -30, expires: 0)
    let yearly = TestPurchases.transaction("2", of: "1", .autoRenewable, "yearly", bought: 5, expires: 370)
    let all = shown(TestPurchases.purchase(monthly, again, yearly))
    #expect(all.map(\.productId) == ["yearly", "monthly"])
    #expect(all.map(\.transactionId) == ["2", "1"] && all.map(\.isExpired) == [false, true])
    #expect(all[1].cancelationReason == .systemReplaced && all[1].expirationDate == TestPurchases.at(5))
  }

  @Test func `provisional purchases end with the provision, and unconfirmed ones are not shown`() throws {
    var purchase = TestPurchases.purchase(TestPurchases.transaction(expires: 30))
    purchase.provisionalUntil = TestPurchases.at(11)
    #expect(try only(purchase, now: 10).expirationDate == TestPurchases.at(11))
    #expect(shown(purchase, now: 11).isEmpty)
  }

  @Test func `a shared purchase of the sandbox`() throws {
    let facts = TestPurchases.transaction(in: "Sandbox", expires: 30, ownership: "FAMILY_SHARED")
    let purchase = try only(TestPurchases.purchase(facts))
    #expect(purchase.isShared && purchase.isSandbox)
  }

  @Test func `the collection has the last purchase of each product`() throws {
    let old = try only(TestPurchases.purchase(TestPurchases.transaction("1", of: "1", expires: 5)))
    let running = try only(TestPurchases.purchase(TestPurchases.transaction("2", of: "2", bought: 1, expires: 30)))
    let over = try only(TestPurchases.purchase(TestPurchases.transaction("3", of: "3", bought: 6, expires: 7)))
    #expect(IapticPurchase.lastOfEachProduct([old, running, over]).map(\.purchaseId) == ["2"])
    #expect(IapticPurchase.lastOfEachProduct([old, over]).map(\.purchaseId) == ["3"])
    var sandbox = running
    sandbox.isSandbox = true
    for both in [[running, sandbox], [sandbox, running]] {
      #expect(IapticPurchase.lastOfEachProduct(both).map(\.isSandbox) == [false])
    }
  }

  @Test func `the forms of the reads and of the validator`() throws {
    var purchase = try only(
      TestPurchases.purchase(
        TestPurchases.transaction(expires: 30), renewal: TestPurchases.renewal(willRenew: false, signed: 1)))
    purchase.entitledUsers = ["alice"]
    #expect(
      String(decoding: IapticPurchase.collection([purchase]), as: UTF8.self) == """
        {"apple:monthly":{"productId":"apple:monthly","platform":"apple","sandbox":false,"purchaseId":"apple:1",\
        "transactionId":"apple:1","purchaseDate":"2023-11-14T22:13:20.000Z","expirationDate":"2023-12-14T22:13:20.000Z",\
        "isExpired":false,"renewalIntent":"Lapse","cancelationReason":"Customer","isBillingRetryPeriod":false,\
        "isTrialPeriod":false,"isIntroPeriod":false,"isAcknowledged":true,"isConsumed":false,"isPending":false,\
        "isSharedPurchase":false,"entitledUsers":["alice"]}}
        """)
    #expect(
      String(decoding: JSONWriter.object { purchase.tell(to: &$0) }, as: UTF8.self) == """
        {"id":"monthly","platform":"ios-appstore","purchaseId":"1","transactionId":"1","purchaseDate":1700000000000,\
        "expiryDate":1702592000000,"isExpired":false,"renewalIntent":"Lapse","cancelationReason":"Customer",\
        "isBillingRetryPeriod":false,"isTrialPeriod":false,"isIntroPeriod":false,"isAcknowledged":true,\
        "isConsumed":false}
        """)
  }
}
