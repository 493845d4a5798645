import Domain
import DomainSupport
import Formats
import HTTPServer
import JSON
import Ledger
import Testing

@testable import Doors
@testable import Gateway

/// The answers with which Cleeng's clients poll for access.
struct CleengEntitlementTests {
  private typealias Lab = CleengLab

  private func entitlement(_ purchases: Purchase..., offer: OfferId = "S1", of id: CustomerId = "42")
    -> CleengEntitlement
  {
    CleengEntitlement(
      CustomerKey(publisherId: 7, id: id), offerId: offer,
      holdings: CustomerPurchases(isKnown: true, purchases: purchases),
      publisher: Lab.publisher(),
      now: TestPurchases.at(10))
  }

  private func purchase(
    _ id: String, _ kind: ProductKind = .autoRenewable, _ product: ProductId = "monthly", expires: Double? = nil,
    renewal: RenewalFacts? = nil
  ) -> Purchase {
    TestPurchases.purchase(
      TestPurchases.transaction(TransactionId(id), of: OriginalTransactionId(id), kind, product, expires: expires),
      renewal: renewal)
  }

  /// In its grace period until day 16; the period ended at day 9.
  private var grace: Purchase {
    purchase("9", expires: 9, renewal: TestPurchases.renewal(of: "9", grace: 16, isInRetry: true, signed: 9))
  }

  @Test func `several purchases give one answer, with the latest end`() {
    let found = entitlement(purchase("1", expires: 20), purchase("2", expires: 30), purchase("3", expires: 5))
    #expect(found.accessGranted && found.expiresAt == TestPurchases.at(30))
  }

  @Test func `the grace period gives access with a past end`() {
    let found = entitlement(grace)
    #expect(found.accessGranted && found.expiresAt == TestPurchases.at(9))
    // Beside it, another purchase ends later, although it gives access for a shorter time.
    let both = entitlement(grace, purchase("1", expires: 12))
    #expect(both.accessGranted && both.expiresAt == TestPurchases.at(12))
  }

  @Test func `without access the last end is told`() {
    let ended = entitlement(purchase("1", expires: 3), purchase("2", expires: 5))
    #expect(!ended.accessGranted && ended.expiresAt == TestPurchases.at(5))
    let none = entitlement()
    #expect(!none.accessGranted && none.expiresAt == nil)
    #expect(!entitlement(purchase("1", expires: 30), offer: "L1").accessGranted)
    #expect(!entitlement(purchase("1", expires: 30), offer: "none").accessGranted)
  }

  @Test func `an access without an end is the latest`() {
    let found = entitlement(purchase("1", .nonConsumable, "lifetime"), offer: "L1")
    #expect(found.accessGranted && found.expiresAt == nil)
  }

  @Test func `a consumable gives no lasting access`() {
    #expect(!entitlement(purchase("1", .consumable, "coins"), offer: "C1").accessGranted)
  }

  @Test func `an open grant is access as any other, with the latest end`() {
    let grant = TestGrants.grant(of: "S1", to: "42", until: 20)
    func found(_ purchases: Purchase..., now: Double = 10) -> CleengEntitlement {
      CleengEntitlement(
        CustomerKey(publisherId: 7, id: "42"), offerId: "S1",
        holdings: CustomerPurchases(isKnown: true, purchases: purchases, grants: [grant]), publisher: Lab.publisher(),
        now: TestPurchases.at(now))
    }
    #expect(found().accessGranted && found().expiresAt == TestPurchases.at(20))
    #expect(found(purchase("1", expires: 5)).expiresAt == TestPurchases.at(20))
    #expect(found(purchase("1", expires: 30)).expiresAt == TestPurchases.at(30))
    #expect(!found(now: 20).accessGranted && found(now: 20).expiresAt == nil)
    let tags = CleengEntitlement.tags(
      CustomerKey(publisherId: 7, id: "42"), holdings: CustomerPurchases(isKnown: true, grants: [grant]),
      publisher: Lab.publisher(), now: TestPurchases.at(10))
    #expect(tags == ["sport", "video"])
  }

  @Test func `tags are those of the offers in use, each once`() {
    func tags(_ purchases: Purchase...) -> [String] {
      CleengEntitlement.tags(
        CustomerKey(publisherId: 7, id: "42"), holdings: CustomerPurchases(isKnown: true, purchases: purchases),
        publisher: Lab.publisher(),
        now: TestPurchases.at(10))
    }
    #expect(
      tags(purchase("1", expires: 30), purchase("2", .nonConsumable, "lifetime")) == ["archive", "sport", "video"])
    #expect(tags(purchase("1", expires: 5)) == [])
    #expect(tags(grace) == ["sport", "video"])
    #expect(tags(purchase("1", .consumable, "coins"), purchase("2", .nonRenewing, "pass")) == [])
    #expect(tags() == [])
  }

  // MARK: Bodies

  @Test func `answers`() {
    func text(_ entitlement: CleengEntitlement) -> String {
      String(decoding: CleengAnswer.entitlement(entitlement).body, as: UTF8.self)
    }
    #expect(
      text(entitlement(purchase("1", expires: 30)))
        == #"{"accessGranted":true,"customerId":42,"expiresAt":1702592000,"offerId":"S1"}"#)
    #expect(
      text(entitlement(of: "mia")) == #"{"accessGranted":false,"customerId":"mia","expiresAt":null,"offerId":"S1"}"#)
    let mediaStore = CleengAnswer.mediaStoreEntitlement(entitlement(purchase("1", expires: 30)))
    #expect(
      String(decoding: mediaStore.body, as: UTF8.self) == """
        {"accessGranted":true,"customerId":42,"errors":[],"expiresAt":1702592000,"offerId":"S1",\
        "responseData":{"accessGranted":true,"expiresAt":1702592000}}
        """)
    let accepted = CleengAnswer.accepted
    #expect(accepted.status == 200)
    #expect(String(decoding: accepted.body, as: UTF8.self) == #"{"errors":[],"responseData":{"success":true}}"#)
  }

  @Test func `errors are problems with Cleeng's texts`() throws {
    let answer = CleengError.response(.invalidBody("offerId: is missing"))
    #expect(answer.status == 400)
    #expect(answer.headers.contains { $0 == ("Content-Type", "application/problem+json") })
    #expect(
      String(decoding: answer.body, as: UTF8.self) == """
        {"code":"REQ0001","detail":"offerId: is missing","errors":["Invalid request body"],\
        "message":"Invalid request body","status":400,"title":"Invalid request body","type":"about:blank"}
        """)
    #expect(CleengError.message(of: .missingCredential) == "Missing required JWT")
    #expect(CleengError.message(of: .invalidCredential("")) == "Invalid JWT token")
    #expect(CleengError.message(of: .internalError) == "Internal Server Error")
    let away = CleengError.response(.unavailable("x"))
    #expect(away.status == 503 && away.headers.contains { $0 == ("Retry-After", "2") })
    let large = Cleeng().tooLarge(limit: 10)
    #expect(large.status == 413)
  }
}
