import Domain
import DomainSupport
import Formats
import JSON
import Testing

@testable import Doors

/// The In-App Purchase resource of Mbaasy, from a purchase of the ledger.
struct MbaasyPurchaseTests {
  static let publisher = Publisher(
    id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
    offers: OfferCatalog([
      Offer(id: "S1", productIds: ["monthly", "yearly"], tags: ["premium/monthly", "video"]),
      Offer(id: "L1", productIds: ["lifetime"]),
    ]), webhooks: [])

  private func mapped(_ purchase: Purchase, prefix: String = "") -> MbaasyPurchase {
    MbaasyPurchase(purchase, publisher: Self.publisher, policy: DoorPolicy(customerPrefix: prefix))
  }

  private func mapped(
    _ kind: ProductKind = .autoRenewable, _ change: (inout TransactionFacts) -> Void
  ) -> MbaasyPurchase {
    var facts = TestPurchases.transaction("1", kind, expires: kind == .autoRenewable ? 30 : nil)
    change(&facts)
    return mapped(TestPurchases.purchase(facts))
  }

  @Test func `every member of a subscription`() throws {
    var facts = TestPurchases.transaction(of: "2000000123456789", bought: 30, expires: 60, signed: 31)
    (facts.quantity, facts.currency, facts.storefront) = (1, "EUR", "DEU")
    facts.originalPurchaseDate = TestPurchases.at(0)
    var purchase = TestPurchases.purchase(
      facts, renewal: TestPurchases.renewal(of: "2000000123456789", willRenew: true, signed: 32), owner: "mb:anna",
      version: 3)
    purchase.attributes = PurchaseAttributes(
      countryCode: "AT", identifierForVendor: "vendor", ipAddress: "192.0.2.1", metadata: Array(#"{"a":1}"#.utf8))
    (purchase.createdAt, purchase.updatedAt) = (1_519_641_350_456, 1_522_233_338_639)
    let text = JSONWriter.object { mapped(purchase, prefix: "mb:").write(to: &$0) }
    let expected = """
      {"id":"38d1e6ba-9b9b-5b9b-b5bb-5b9b9b9b9b9b","app_family_id":"","fact_id":"","version":3,"versions":3,\
      "marketplace":"itunes_connect","app_identifier":"com.example","product_id":"monthly","quantity":1,\
      "type":"subscription","environment":"production","unique_identifier":2000000123456789,"country_code":"AT",\
      "currency_code":"EUR","user_identifier":"anna","identifier_for_vendor":"vendor","is_auto_renewing":true,\
      "in_trial_period":false,"in_grace_period":false,"metadata":{"a":1},"entitlements":["premium/monthly","video"],\
      "purchased_at":{"utc":"2023-11-14 22:13:20 UTC","ms":1700000000000},\
      "current_period_start_at":{"utc":"2023-12-14 22:13:20 UTC","ms":1702592000000},\
      "current_period_end_at":{"utc":"2024-01-13 22:13:20 UTC","ms":1705184000000},"canceled_at":null,\
      "canceled_by":null,"created_at":{"utc":"2018-02-26 10:35:50 UTC","ms":1519641350456},\
      "updated_at":{"utc":"2018-03-28 10:35:38 UTC","ms":1522233338639},\
      "last_synced_at":{"utc":"2023-12-16 22:13:20 UTC","ms":1702764800000}}
      """
    // The UUIDs have tests of their own.
    #expect(withoutIds(String(decoding: text, as: UTF8.self)) == withoutIds(expected))
  }

  private func withoutIds(_ text: String) -> String {
    text.replacing(#/"(id|app_family_id|fact_id)":"[^"]*",/#, with: "")
  }

  @Test func `what is not known is null`() throws {
    let purchase = mapped(TestPurchases.purchase(TestPurchases.transaction("1", .nonConsumable, "other")))
    let text = JSONWriter.object { purchase.write(to: &$0) }
    let members = try JSONText(text).decoded(as: [String: JSONValue].self)
    let empty = members.filter { $0.value == .null }.keys.sorted()
    #expect(
      empty == [
        "canceled_at", "canceled_by", "country_code", "created_at", "currency_code", "current_period_end_at",
        "current_period_start_at", "identifier_for_vendor", "metadata", "updated_at", "user_identifier",
      ])
    #expect(members["entitlements"] == .array([]))
    #expect(members["is_auto_renewing"] == .bool(false))
    #expect(members["quantity"] == .integer(1))
    #expect(members.count == 29)
  }

  @Test(arguments: [
    (ProductKind.autoRenewable, "subscription"), (.nonRenewing, "non_renewing_subscription"),
    (.nonConsumable, "non_consumable"), (.consumable, "consumable"),
  ])
  func type(kind: ProductKind, name: String) {
    let purchase = mapped(kind) { $0.expiresDate = TestPurchases.at(9) }
    #expect(purchase.type == name)
    // Only a subscription has periods, a renewal and a trial.
    let isSubscription = kind == .autoRenewable
    #expect((purchase.currentPeriodStartAt != nil) == isSubscription)
    #expect((purchase.currentPeriodEndAt != nil) == isSubscription)
    #expect(purchase.isAutoRenewing == (isSubscription ? nil : false))
    #expect(mapped(kind) { $0.offerDiscountType = "FREE_TRIAL" }.isInTrialPeriod == isSubscription)
  }

  @Test func `a free offer is a trial`() {
    #expect(mapped { $0.offerDiscountType = "FREE_TRIAL" }.isInTrialPeriod)
    #expect(!mapped { $0.offerDiscountType = "PAY_UP_FRONT" }.isInTrialPeriod)
    #expect(mapped { ($0.offerType, $0.price) = (1, 0) }.isInTrialPeriod)
    #expect(!mapped { ($0.offerType, $0.price) = (1, 990) }.isInTrialPeriod)
    #expect(mapped { ($0.offerType, $0.price) = (2, 0) }.isInTrialPeriod)
    #expect(!mapped { ($0.offerType, $0.price, $0.offerDiscountType) = (1, 0, "PAY_AS_YOU_GO") }.isInTrialPeriod)
    #expect(!mapped { $0.price = 0 }.isInTrialPeriod)
  }

  @Test func `grace is the time in which Apple tries to charge`() {
    func isInGrace(retry: Bool? = nil, grace: Double? = nil, revoked: Double? = nil, signed: Double = 30) -> Bool {
      mapped(
        TestPurchases.purchase(
          TestPurchases.transaction(expires: 30, revoked: revoked),
          renewal: TestPurchases.renewal(grace: grace, isInRetry: retry, signed: signed))
      ).isInGracePeriod
    }
    #expect(!isInGrace())
    #expect(!isInGrace(retry: false))
    #expect(isInGrace(retry: true))
    #expect(isInGrace(grace: 46))
    #expect(!isInGrace(retry: true, grace: 46, revoked: 31))
    // The renewal info is about an earlier period.
    #expect(!isInGrace(retry: true, signed: -3))
  }

  @Test func `the country is the app's, or that of Apple's storefront`() {
    #expect(mapped { $0.storefront = "USA" }.countryCode == "US")
    #expect(mapped { $0.storefront = "QQQ" }.countryCode == nil)
    #expect(mapped { _ in }.countryCode == nil)
    var purchase = TestPurchases.purchase(TestPurchases.transaction())
    purchase.attributes = PurchaseAttributes(countryCode: "FR")
    #expect(mapped(purchase).countryCode == "FR")
  }

  @Test func `a user is a customer with the door's prefix`() {
    func user(_ owner: CustomerId?, _ prefix: String) -> String? {
      mapped(TestPurchases.purchase(TestPurchases.transaction(), owner: owner), prefix: prefix).userIdentifier
    }
    #expect(user("anna", "") == "anna")
    #expect(user("mb:anna", "mb:") == "anna")
    #expect(user("anna", "mb:") == nil)
    #expect(user(nil, "") == nil)
    #expect(user("mb:\u{e9}", "mb:").isExactly("\u{e9}"))
  }

  @Test func `entitlements are the tags of the offer, or its id`() {
    #expect(mapped { $0.productId = "yearly" }.entitlements == ["premium/monthly", "video"])
    #expect(mapped(.nonConsumable) { $0.productId = "lifetime" }.entitlements == ["L1"])
    #expect(mapped { $0.productId = "other" }.entitlements == [])
  }

  @Test func `the purchase began when Apple says, or with its first transaction`() {
    let first = TestPurchases.transaction("1", bought: 0, expires: 30)
    var second = TestPurchases.transaction("2", bought: 30, expires: 60)
    let purchase = mapped(TestPurchases.purchase(first, second))
    #expect(purchase.purchasedAt == TestPurchases.at(0))
    #expect(purchase.currentPeriodStartAt == TestPurchases.at(30))
    #expect(purchase.currentPeriodEndAt == TestPurchases.at(60))
    second.originalPurchaseDate = TestPurchases.at(-90)
    #expect(mapped(TestPurchases.purchase(first, second)).purchasedAt == TestPurchases.at(-90))
  }

  @Test func `it was synced when Apple signed last, and never while only the app speaks for it`() {
    var purchase = TestPurchases.purchase(
      TestPurchases.transaction(expires: 30, signed: 5), renewal: TestPurchases.renewal(signed: 6))
    #expect(mapped(purchase).lastSyncedAt == TestPurchases.at(6))
    purchase.provisionalUntil = TestPurchases.at(7)
    #expect(mapped(purchase).lastSyncedAt == nil)
    #expect(mapped { $0.signedDate = TestPurchases.at(8) }.lastSyncedAt == TestPurchases.at(8))
  }

  @Test func `nobody but the owner sees what the owner gave`() {
    var facts = TestPurchases.transaction(expires: 30)
    facts.storefront = "USA"
    var purchase = TestPurchases.purchase(facts, owner: "anna", version: 2)
    purchase.attributes = PurchaseAttributes(
      countryCode: "FR", identifierForVendor: "vendor", metadata: Array("{}".utf8))
    var expected = mapped(purchase)
    expected.countryCode = "US"
    (expected.userIdentifier, expected.identifierForVendor, expected.metadata) = (nil, nil, nil)
    #expect(MbaasyPurchase.withoutOwner(purchase, publisher: Self.publisher) == expected)
  }

  // MARK: Values

  @Test func `ids are stable UUIDs, and differ`() {
    let key = TestPurchases.key("1")
    let ids = [
      MbaasyIdentifier.purchase(key), MbaasyIdentifier.fact(key), MbaasyIdentifier.app("com.example", of: 7),
      MbaasyIdentifier.app("com.example", of: 8), MbaasyIdentifier.purchase(TestPurchases.key("1", in: "Sandbox")),
      MbaasyIdentifier.purchase(TestPurchases.key("2")), MbaasyIdentifier.purchase(TestPurchases.key("1", of: 8)),
      MbaasyIdentifier.receipt([1, 2], of: 7), MbaasyIdentifier.receipt([12], of: 7),
      MbaasyIdentifier.receipt([1, 2], of: 8), MbaasyIdentifier.event("evt_1"),
    ]
    #expect(Set(ids).count == ids.count)
    for id in ids {
      #expect(id.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }
    // They must stay the same in later versions.
    #expect(MbaasyIdentifier.purchase(key) == "480f65b4-48c1-5fde-a7cb-13661a018e28")
    #expect(MbaasyIdentifier.app("com.example", of: 7) == "f3bf7163-7dc3-5b20-9ad5-ec1af11b287c")
  }

  @Test(arguments: [
    (MbaasyValue.text("a\"b"), #""a\"b""#), (.text(nil), "null"), (.texts([]), "[]"),
    (.texts(["a", "b"]), #"["a","b"]"#),
    (.number(-1), "-1"), (.flag(true), "true"), (.flag(false), "false"), (.flag(nil), "null"), (.time(nil), "null"),
    (.time(1_519_641_347_834), #"{"utc":"2018-02-26 10:35:47 UTC","ms":1519641347834}"#), (.json([0x31]), "1"),
    (.json(nil), "null"), (.identifier("123456789012345"), "123456789012345"),
    (.identifier("9007199254740991"), "9007199254740991"), (.identifier("9007199254740992"), #""9007199254740992""#),
    (.identifier("007"), #""007""#), (.identifier("x"), #""x""#),
  ])
  func values(value: MbaasyValue, json: String) {
    #expect(String(decoding: value.json, as: UTF8.self) == json)
  }
}
