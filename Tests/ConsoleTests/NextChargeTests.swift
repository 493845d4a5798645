import AppStore
import Crypto
import Domain
import DomainSupport
import Ledger
import Testing

@testable import Console

/// What Apple charges next, as the newest renewal info says.
struct NextChargeTests {
  private static let now = AnsweredPurchases.now
  private static let end = now + 20 * AnsweredPurchases.day

  private static func purchase(
    _ renewal: RenewalFacts? = AnsweredPurchases.renewal(), revoked: Int64? = nil, kind: ProductKind = .autoRenewable
  ) -> Purchase {
    var facts = AnsweredPurchases.transaction("101", of: "100", "monthly", kind)
    facts.revocationDate = revoked
    return AnsweredPurchases.purchase(facts, renewal: renewal)
  }

  private static func charge(_ purchase: Purchase, _ payload: String?) -> NextCharge? {
    NextCharge(purchase, payload.map { Array($0.utf8) }, now: now)
  }

  @Test(
    arguments: [
      (#"{"renewalDate":1797069600000,"renewalPrice":9990,"currency":"EUR"}"#, 1_797_069_600_000, 9990, "EUR"),
      (#"{"renewalPrice":0,"currency":"EUR"}"#, end, 0, "EUR"), (#"{"renewalPrice":9990}"#, end, nil, nil),
      (#"{"renewalPrice":-1,"currency":"EUR"}"#, end, nil, nil), (#"{"currency":"EUR"}"#, end, nil, nil),
      ("{}", end, nil, nil), ("?", end, nil, nil), (nil, end, nil, nil),
    ] as [(String?, Int64, Int64?, CurrencyCode?)])
  func `a renewal says when and how much`(payload: String?, at: Int64, price: Int64?, currency: CurrencyCode?) {
    let charge = Self.charge(Self.purchase(), payload)
    #expect(charge?.at == at && charge?.price == price && charge?.currency == currency)
  }

  @Test func `nothing is charged for what does not renew, is refunded, or is tried already`() {
    let payload = #"{"renewalDate":1797069600000,"renewalPrice":9990,"currency":"EUR"}"#
    var retrying = AnsweredPurchases.renewal()
    retrying.isInBillingRetry = true
    for purchase in [
      Self.purchase(nil), Self.purchase(AnsweredPurchases.renewal(willRenew: false)), Self.purchase(retrying),
      Self.purchase(revoked: 5), Self.purchase(kind: .nonConsumable),
    ] { #expect(Self.charge(purchase, payload) == nil) }
    #expect(Self.charge(Self.purchase(), #"{"renewalDate":5}"#) == nil)
  }

  @Test(
    arguments: [
      (9990, "EUR", "9.99 EUR"), (9900, "EUR", "9.90 EUR"), (1234, "KWD", "1.234 KWD"), (500_000, "JPY", "500.00 JPY"),
      (5, "EUR", "0.005 EUR"), (0, "EUR", "0.00 EUR"), (-1, "EUR", ""), (nil, "EUR", ""), (1, nil, ""),
      (.max, "EUR", "9223372036854775.807 EUR"),
    ] as [(Int64?, CurrencyCode?, String)])
  func `a price is in thousandths`(price: Int64?, currency: CurrencyCode?, words: String) {
    #expect(PurchasePage.price(price, currency) == words)
  }

  @Test func `the customer's page has it`() throws {
    let purchase = Self.purchase()
    let person = ConsolePerson(name: "ada", role: .support, publishers: .all, password: try Scrypt(of: "x", logN: 10))
    let payload = #"{"renewalPrice":9990,"currency":"<b>"}"#
    var page = CustomerPage(
      view: ConsoleView(prefix: "/c", person: person, now: Self.now),
      customer: CustomerKey(publisherId: 7, id: "42"),
      rules: AccessRules(
        offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"])]), allowsSandbox: true),
      holdings: CustomerPurchases(isKnown: true, version: 3, purchases: [purchase], grants: []),
      purchases: [purchase], timeline: ConsoleTimeline.Reading())
    #expect(!page.html.contains("Next charge") && !String(decoding: page.json, as: UTF8.self).contains("nextCharge"))
    page.charges = try [purchase.key: #require(Self.charge(purchase, payload))]
    #expect(page.html.contains("<dt>Next charge</dt>") && page.html.contains(", 9.99 &lt;b&gt;"))
    #expect(String(decoding: page.json, as: UTF8.self).contains(#""nextCharge":{"at":"2026-12-12T10:00:00.000Z""#))
  }
}
