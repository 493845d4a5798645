import DomainSupport
import Formats
import JSON
import Testing

@testable import Domain
@testable import Doors

/// A purchase as Cleeng shows it.
struct CleengSubscriptionTests {
  private func subscription(
    _ facts: TransactionFacts, renewal: RenewalFacts? = nil, attributes: PurchaseAttributes? = nil,
    of id: CustomerId = "42"
  ) -> CleengSubscription {
    var purchase = TestPurchases.purchase(facts, renewal: renewal)
    purchase.attributes = attributes
    return CleengSubscription(purchase, of: id, publisher: CleengLab.publisher(), now: TestPurchases.at(10))
  }

  @Test func `the kind of product is the kind of offer`() {
    let kinds: [(ProductKind, ProductId, String)] = [
      (.autoRenewable, "monthly", "subscription"), (.nonRenewing, "pass", "pass"),
      (.nonConsumable, "lifetime", "single"),
      (.consumable, "coins", "consumable"),
    ]
    #expect(kinds.count == ProductKind.allCases.count)
    for (kind, product, expected) in kinds {
      #expect(subscription(TestPurchases.transaction("1", of: "1", kind, product)).offerType == expected)
    }
  }

  @Test func `in the grace period the end of the period has passed`() {
    let facts = TestPurchases.transaction(expires: 9, signed: 9)
    let grace = subscription(facts, renewal: TestPurchases.renewal(grace: 16, isInRetry: true, signed: 9))
    #expect(grace.access.isGranted && grace.access.rule == .gracePeriod)
    #expect(grace.access.expiresAt == TestPurchases.at(16))
    #expect(grace.expiresAt == TestPurchases.at(9))
  }

  @Test func `otherwise the end of the access counts`() {
    #expect(subscription(TestPurchases.transaction(expires: 30)).expiresAt == TestPurchases.at(30))
    #expect(subscription(TestPurchases.transaction(expires: 5)).expiresAt == TestPurchases.at(5))
    #expect(subscription(TestPurchases.transaction(expires: 30, revoked: 8)).expiresAt == TestPurchases.at(8))
    let pass = TestPurchases.transaction("1", of: "1", .nonRenewing, "pass", bought: 1)
    #expect(subscription(pass).expiresAt == TestPurchases.at(31))
    #expect(subscription(TestPurchases.transaction("1", of: "1", .nonConsumable, "lifetime")).expiresAt == nil)
  }

  @Test func `a trial is an offer without a price`() {
    func isInTrial(
      _ type: Int32?, _ discount: String?, price: Int64? = 9990, expires: Double = 30,
      _ kind: ProductKind = .autoRenewable
    ) -> Bool {
      var facts = TestPurchases.transaction("1", of: "1", kind, "monthly", expires: expires)
      (facts.offerType, facts.offerDiscountType, facts.price) = (type, discount, price)
      return subscription(facts).isInTrial
    }
    #expect(isInTrial(1, "FREE_TRIAL"))
    #expect(isInTrial(2, "FREE_TRIAL", price: 0))
    #expect(isInTrial(1, nil, price: 0))
    #expect(!isInTrial(1, nil))
    #expect(!isInTrial(1, nil, price: nil))
    #expect(!isInTrial(1, "PAY_UP_FRONT", price: 0))
    #expect(isInTrial(nil, "FREE_TRIAL"))
    #expect(!isInTrial(nil, nil, price: 0))
    #expect(!isInTrial(1, "FREE_TRIAL", expires: 5))
    #expect(!isInTrial(1, "FREE_TRIAL", .nonConsumable))
  }

  @Test func `a coupon stays with the purchase and its events`() {
    var purchase = CleengLab.subscription("42")
    purchase.attributes = PurchaseAttributes(couponCode: "SUMMER")
    let events = CleengLab.events(nil, purchase, CleengLab.job(), .purchaseSynchronized)
    #expect(events.map { CleengLab[$0, "couponCode"] } == [.string("SUMMER"), .string("SUMMER")])
    #expect(events.map { CleengLab[$0, "inTrial"] } == [.bool(false), .bool(false)])
  }

  @Test func `an id is a number where it is one`() {
    func shown(_ id: CustomerId?) -> String {
      String(decoding: JSONWriter.object { $0.cleengId("customerId", id) }, as: UTF8.self)
    }
    #expect(shown("42") == #"{"customerId":42}"#)
    #expect(shown("042") == #"{"customerId":"042"}"#)
    #expect(shown("9223372036854775808") == #"{"customerId":"9223372036854775808"}"#)
    #expect(shown("a@example.com") == #"{"customerId":"a@example.com"}"#)
    #expect(shown(nil) == "{}")
  }
}
