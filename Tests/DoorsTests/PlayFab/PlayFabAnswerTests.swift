import Domain
import DomainSupport
import Formats
import HTTPServer
import JSON
import TestSupport
import Testing

@testable import Doors
@testable import Gateway

/// Items, prices, and the envelope of PlayFab's answers.
struct PlayFabAnswerTests {
  private typealias Given = AnsweredPurchases

  private static func offers(_ price: Offer.Price?) -> OfferCatalog {
    OfferCatalog([
      Offer(
        id: "S1", productIds: ["monthly", "coins"], displayName: "Video", itemClass: "subscriptions",
        catalogVersion: "5", price: price), Offer(id: "A1", productIds: ["lifetime"]),
    ])
  }

  private static let dollars = Offer.Price(amount: 999, currency: "USD")
  private static let euros = Offer.Price(amount: 899, currency: "EUR")

  private func item(
    _ facts: TransactionFacts, offered price: Offer.Price? = dollars, of customer: CustomerId = "42",
    version: String? = nil
  ) -> PlayFabItem? {
    let offers = Self.offers(price)
    return PlayFabItem(
      Given.purchase(facts), of: customer, PlayFabCatalog(offers: offers, version: version),
      rules: AccessRules(offers: offers, allowsSandbox: false), now: Given.now)
  }

  private func coins(_ quantity: Int32 = 3) -> TransactionFacts {
    var facts = Given.transaction("300", of: "300", "coins", .consumable, expires: nil)
    (facts.quantity, facts.price, facts.currency) = (quantity, 8_990, "EUR")
    return facts
  }

  private func body(_ fulfillments: PlayFabFulfillment...) -> String {
    String(decoding: PlayFabAnswer.fulfilled(fulfillments).body, as: UTF8.self)
  }

  // MARK: Items

  @Test func subscription() throws {
    var facts = Given.transaction()
    facts.originalPurchaseDate = Given.now - 100 * Given.day
    let item = try #require(self.item(facts))
    #expect(item.productId == "monthly" && item.uses == nil && item.quantity == 1)
    #expect(item.purchaseDate == Given.now - 100 * Given.day)
    #expect(item.expiration == Given.now + 20 * Given.day)
    #expect(item.instanceId.count == 16 && item.instanceId.utf8.allSatisfy { $0.isASCIIDigit || 65...70 ~= $0 })
    #expect(self.item(facts, of: "43") == nil)
    #expect(self.item(facts, version: "5") == item)
    #expect(self.item(facts, version: "6") == nil)
    #expect(self.item(Given.transaction(expires: Given.now)) == nil)
    #expect(self.item(Given.transaction("1", of: "1", "unheard", .nonConsumable, expires: nil)) == nil)
  }

  /// A renewal is the same item; another purchase, product, environment or publisher is another.
  @Test func instances() throws {
    let first = try #require(self.item(Given.transaction()))
    let renewed = try #require(self.item(Given.transaction("102", expires: Given.now + 50 * Given.day)))
    #expect(first.instanceId == renewed.instanceId)
    let keys = [(7, "Production", "1", "a"), (8, "Production", "1", "a"), (7, "Sandbox", "1", "a")]
    let others = [(7, "Production", "1a", ""), (7, "Production", "1", "b"), (7, "Production", "2", "a")]
    let ids = (keys + others).map { publisher, environment, id, product in
      PlayFabItem.instanceId(
        PurchaseKey(
          publisherId: PublisherId(Int64(publisher)), environment: Environment(environment),
          originalTransactionId: "\(id)"),
        ProductId(product))
    }
    #expect(Set(ids).count == ids.count)
  }

  // MARK: The envelope

  @Test func everyField() throws {
    let item = try #require(self.item(coins()))
    let price = PlayFabRecordedPrice(source: .request, currency: "EUR", total: 2697)
    #expect(
      body(PlayFabFulfillment(item: item, price: price))
        == #"{"code":200,"status":"OK","data":{"Fulfillments":[{"FulfilledItems":[{"CatalogVersion":"5","#
        + #""DisplayName":"Video","ItemClass":"subscriptions","ItemId":"coins","ItemInstanceId":"\#(item.instanceId)","#
        + #""PurchaseDate":"2026-11-12T10:00:00.000Z","RemainingUses":3,"UnitCurrency":"USD","UnitPrice":999,"#
        + #""UsesIncrementedBy":3}],"RecordedPriceSource":"Request","RecordedTransactionCurrency":"EUR","#
        + #""RecordedTransactionTotal":2697}]}}"#)
  }

  @Test func fewFields() throws {
    let item = try #require(self.item(Given.transaction("200", of: "200", "lifetime", .nonConsumable, expires: nil)))
    #expect(
      body(PlayFabFulfillment(item: item, price: nil))
        == #"{"code":200,"status":"OK","data":{"Fulfillments":[{"FulfilledItems":[{"ItemId":"lifetime","#
        + #""ItemInstanceId":"\#(item.instanceId)","PurchaseDate":"2026-11-12T10:00:00.000Z","UnitPrice":0}]}]}}"#)
    #expect(body() == #"{"code":200,"status":"OK","data":{"Fulfillments":[]}}"#)
  }

  /// Apple's price stands in for the catalog's, and no price is beyond 32 bits.
  @Test func prices() throws {
    let apples = try #require(self.item(coins(), offered: nil))
    #expect(body(PlayFabFulfillment(item: apples, price: nil)).contains(#""UnitCurrency":"EUR","UnitPrice":899,"#))
    let dear = try #require(self.item(coins(), offered: Offer.Price(amount: 9_000_000_000, currency: "IDR")))
    #expect(body(PlayFabFulfillment(item: dear, price: nil)).contains(#""UnitPrice":4294967295,"#))
  }

  @Test func errors() throws {
    let response = PlayFabError.invalidParams("ReceiptData", "The \"field\"").response(asSuccess: false)
    #expect(response.status == 400)
    #expect(
      String(decoding: response.body, as: UTF8.self)
        == #"{"code":400,"status":"BadRequest","error":"InvalidParams","errorCode":1000,"#
        + #""errorMessage":"Invalid input parameters","errorDetails":{"ReceiptData":["The \"field\""]}}"#)
    let statuses: [(PlayFabError, Int, String)] = [
      (.notAuthenticated, 401, "Unauthorized"), (.tooLarge(7), 413, "RequestEntityTooLarge"),
      (.tooManyWaiting, 429, "TooManyRequests"), (.unavailable(""), 503, "ServiceUnavailable"),
      (.appleIsSilent, 400, "BadRequest"),
    ]
    for (error, code, status) in statuses {
      let response = error.response(asSuccess: false)
      #expect(response.status == code)
      #expect(String(decoding: response.body, as: UTF8.self).hasPrefix(#"{"code":\#(code),"status":"\#(status)","#))
      #expect(response.headers.contains { $0.name == "Retry-After" } == [429, 503].contains(code))
      let asSuccess = error.response(asSuccess: true)
      #expect(asSuccess.status == 200 && asSuccess.body == response.body)
    }
  }

  /// docs/reference/openapi.yaml has the members of the answers, and no others.
  @Test func documentedMembers() throws {
    let file = try OpenAPIFile()
    let price = PlayFabRecordedPrice(source: .catalog, currency: "USD", total: 999)
    let subscription = PlayFabFulfillment(item: try #require(self.item(Given.transaction())), price: price)
    let consumable = PlayFabFulfillment(item: try #require(self.item(coins())), price: price)
    let refused = PlayFabError.invalidParams("ReceiptData", "").response(asSuccess: false).body
    var members: [String: Set<String>] = [:]
    func collect(_ value: JSONValue?, _ schema: String) {
      guard case .object(let object) = value else { return }
      members[schema, default: []].formUnion(object.keys.map(\.text))
    }
    let answer: JSONValue = try JSONText(PlayFabAnswer.fulfilled([subscription, consumable]).body).decoded()
    collect(answer, "PlayFabFulfillments")
    collect(try JSONText(refused).decoded(), "PlayFabError")
    guard case .object(let envelope) = answer, case .object(let data) = envelope["data"],
      case .array(let fulfillments) = data["Fulfillments"]
    else { return #expect(Bool(false), "the envelope") }
    for case .object(let fulfillment) in fulfillments {
      collect(.object(fulfillment), "PlayFabFulfillment")
      if case .array(let items) = fulfillment["FulfilledItems"] { collect(items.first, "PlayFabItem") }
    }
    for (schema, found) in members {
      #expect(Set(file.keys("components", "schemas", schema, "properties")) == found, "\(schema)")
    }
    #expect(members.count == 4)
  }

  // MARK: Prices

  private static let charged = apple(8_990, "EUR")

  private static func apple(_ thousandths: Int64, _ currency: CurrencyCode, isOfOffer: Bool = false)
    -> PlayFabApplePrice?
  {
    PlayFabApplePrice(thousandths: thousandths, currency: currency, offer: (isOfOffer ? 1 : nil, nil, nil))
  }

  private func error(
    _ amount: Int64, _ currency: CurrencyCode?, catalog: Offer.Price? = nil, apple: PlayFabApplePrice? = nil,
    quantity: Int64 = 1
  ) -> Int64? {
    do throws(PlayFabError) {
      try PlayFabPrice(amount: amount, currency: currency).check(catalog: catalog, apple: apple, quantity: quantity)
      return nil
    } catch {
      return error.number
    }
  }

  @Test func comparedPrices() {
    // Nothing is known, or only a catalog in another currency.
    #expect(error(1, "USD") == nil && error(1, nil) == nil && error(1, "EUR", catalog: Self.dollars) == nil)
    #expect(error(999, "USD", catalog: Self.dollars, apple: Self.charged) == nil)
    #expect(error(899, "EUR", catalog: Self.dollars, apple: Self.charged) == nil)
    #expect(error(899, nil, catalog: Self.dollars, apple: Self.charged) == nil)
    #expect(error(2697, "EUR", apple: Self.charged, quantity: 3) == nil)
    #expect(error(.max, "EUR", apple: Self.apple(.max, "EUR"), quantity: 3) == 1000)
    #expect(error(.max / 10, "EUR", apple: Self.apple(.max, "EUR"), quantity: 3) == nil)

    #expect(error(999, "XYZ") == 1179 && error(999, "usd") == 1179 && error(999, "") == 1179)
    #expect(error(899, "GBP", apple: Self.charged) == 1179)
    #expect(error(899, "GBP", catalog: Self.dollars, apple: Self.charged) == 1179)
    #expect(error(998, "USD", catalog: Self.dollars) == 1000)
    #expect(error(998, nil, catalog: Self.dollars) == 1000)
    #expect(error(999, "EUR", catalog: Self.dollars, apple: Self.charged) == 1000)
    #expect(error(1798, "EUR", apple: Self.charged, quantity: 3) == 1000)
  }

  @Test func recordedPrices() {
    func recorded(_ amount: Int64, _ currency: CurrencyCode?, _ apple: PlayFabApplePrice?) -> PlayFabRecordedPrice {
      PlayFabPrice(amount: amount, currency: currency).recorded(catalog: Self.dollars, apple: apple, quantity: 1)
    }
    #expect(recorded(899, "EUR", nil) == PlayFabRecordedPrice(source: .request, currency: "EUR", total: 899))
    #expect(recorded(899, nil, Self.charged) == PlayFabRecordedPrice(source: .request, currency: "EUR", total: 899))
    #expect(recorded(999, "USD", Self.charged) == PlayFabRecordedPrice(source: .request, currency: "USD", total: 999))
    #expect(recorded(999, nil, nil) == PlayFabRecordedPrice(source: .request, currency: "USD", total: 999))
    // Apple answered, and the customer paid something else.
    #expect(recorded(1, "EUR", Self.charged) == PlayFabRecordedPrice(source: nil, currency: "EUR", total: 899))
    #expect(
      PlayFabRecordedPrice.restored(catalog: Self.dollars, apple: Self.charged)
        == PlayFabRecordedPrice(source: .catalog, currency: "USD", total: 999))
    #expect(
      PlayFabRecordedPrice.restored(catalog: nil, apple: Self.charged)
        == PlayFabRecordedPrice(source: nil, currency: "EUR", total: 899))
    #expect(PlayFabRecordedPrice.restored(catalog: nil, apple: nil) == nil)
  }

  /// PlayFab's price is the store's, and Apple's is that of the offer.
  @Test func pricesOfOffers() {
    for apples in [0, 990, 4_990] as [Int64] {
      let (mine, other) = (Self.apple(apples, "USD", isOfOffer: true), Self.apple(apples, "EUR", isOfOffer: true))
      // The store's price, which nobody here knows, the catalog's, or what Apple charged.
      #expect(error(999, "USD", apple: mine) == nil && error(999, nil, apple: mine) == nil)
      #expect(error(999, "USD", catalog: Self.dollars, apple: mine) == nil)
      #expect(error(apples / 10, "USD", catalog: Self.dollars, apple: mine) == nil)
      // The storefront of another currency: the catalog does not tell its price.
      #expect(error(1099, "EUR", catalog: Self.dollars, apple: other) == nil)
      #expect(error(1099, nil, catalog: Self.dollars, apple: other) == nil)
      // The catalog tells that the price is another one, or Apple that the currency is.
      #expect(error(998, "USD", catalog: Self.dollars, apple: mine) == 1000)
      #expect(error(998, nil, catalog: Self.dollars, apple: mine) == 1000)
      #expect(error(1099, "GBP", apple: other) == 1179)
      // Without an offer, another amount is a mistake.
      #expect(error(998, "USD", apple: Self.apple(apples, "USD")) == 1000)

      let recorded = PlayFabPrice(amount: 999, currency: "USD")
        .recorded(catalog: Self.dollars, apple: mine, quantity: 1)
      #expect(recorded == PlayFabRecordedPrice(source: nil, currency: "USD", total: apples / 10))
    }
    let free = PlayFabPrice(amount: 0, currency: nil).recorded(
      catalog: Self.dollars, apple: Self.apple(0, "USD", isOfOffer: true), quantity: 1)
    #expect(free == PlayFabRecordedPrice(source: .request, currency: "USD", total: 0))
  }

  @Test func aPurchaseWithAnOffer() throws {
    var facts = Given.transaction()
    (facts.price, facts.currency) = (0, "USD")
    #expect(try #require(self.item(facts)).applePrice == Self.apple(0, "USD"))
    let changes: [(inout TransactionFacts) -> Void] = [
      { $0.offerType = 1 }, { $0.offerDiscountType = "PAY_AS_YOU_GO" }, { $0.offerIdentifier = "WINTER" },
    ]
    for change in changes {
      var changed = facts
      change(&changed)
      #expect(try #require(self.item(changed)).applePrice == Self.apple(0, "USD", isOfOffer: true))
    }
  }

  /// Apple tells thousandths, and PlayFab's client sends hundredths: cut or rounded, of one item or of all.
  @Test(
    arguments: [
      (1_995, 1, [199, 200]), (9_995, 1, [999, 1000]), (9_994, 1, [999]), (9_990, 1, [999]), (5, 1, [0, 1]),
      (1_995, 3, [199, 200, 597, 598, 599, 600]), (1_993, 2, [199, 398, 399]), (0, 2, [0]),
    ] as [(Int64, Int64, Set<Int64>)])
  func prices(inThousandths price: Int64, quantity: Int64, paid: Set<Int64>) {
    let dinars = Self.apple(price, "KWD")
    let accepted = (0...700).filter { error($0, "KWD", apple: dinars, quantity: quantity) == nil }
    #expect(Set(accepted) == paid.filter { $0 <= 700 })
    for amount in paid { #expect(error(amount, "KWD", apple: dinars, quantity: quantity) == nil, "\(amount)") }
    #expect(error(-1, "KWD", apple: dinars, quantity: quantity) == 1000)
  }
}
