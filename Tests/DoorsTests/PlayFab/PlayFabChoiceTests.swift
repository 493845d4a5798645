import Domain
import Testing

@testable import Doors
@testable import Gateway

/// Which purchase of a receipt ValidateIOSReceipt means.
struct PlayFabChoiceTests {
  private static let now: Int64 = 1_795_421_700_000
  private static let catalog = PlayFabCatalog(
    offers: OfferCatalog([
      Offer(
        id: "S1", productIds: ["monthly", "yearly"], catalogVersion: "5",
        price: Offer.Price(amount: 999, currency: "USD")),
      Offer(id: "A1", productIds: ["lifetime", "coins", "gems"]),
      Offer(id: "A2", productIds: ["skin"], price: Offer.Price(amount: 299, currency: "USD")),
    ]), version: nil)

  /// A purchase; each one in a list is older than the one before it.
  private func purchase(_ product: ProductId, ends: Int64? = nil, isCancelled: Bool = false) -> LocalPurchase {
    LocalPurchase(
      key: key(product), transactionId: "1", productId: product, expiresDate: ends,
      cancellationDate: isCancelled ? 1 : nil, transactionIds: ["1"])
  }

  private func key(_ product: ProductId) -> PurchaseKey {
    PurchaseKey(publisherId: 7, environment: "Production", originalTransactionId: "\(product)")
  }

  private var monthly: LocalPurchase { purchase("monthly", ends: Self.now + 1) }

  /// The product that is meant, or the number of the error.
  private func meant(
    _ purchases: [LocalPurchase], owned: [ProductId] = [], price: Int64 = 199, currency: CurrencyCode? = nil,
    catalog: PlayFabCatalog = catalog
  ) -> String {
    let choice = PlayFabChoice(purchases, catalog, PlayFabPrice(amount: price, currency: currency), now: Self.now)
    do throws(PlayFabError) {
      return try choice.purchase(given: Set(owned.map(key))).productId.text
    } catch {
      return "\(error.number)"
    }
  }

  @Test func aSinglePurchase() {
    for purchase in [purchase("coins"), monthly, purchase("monthly", ends: 1), purchase("coins", isCancelled: true)] {
      #expect(meant([purchase]) == purchase.productId.text)
      #expect(meant([purchase], owned: [purchase.productId]) == purchase.productId.text)
      #expect(!PlayFabChoice([purchase], Self.catalog, PlayFabPrice(amount: 1, currency: nil), now: 1).asksForOwners)
    }
    #expect(meant([purchase("unheard")]) == "1178")
    #expect(meant([]) == "1178")
  }

  @Test func theNewOne() {
    // The consumable beside what somebody owns already, this customer or another one.
    #expect(meant([purchase("coins"), purchase("lifetime")], owned: ["lifetime"]) == "coins")
    #expect(meant([purchase("lifetime"), purchase("coins")], owned: ["lifetime"]) == "coins")
    #expect(meant([monthly, purchase("coins")], owned: ["monthly"]) == "coins")
    #expect(meant([monthly, purchase("lifetime"), purchase("coins")], owned: ["monthly", "lifetime"]) == "coins")
    #expect(meant([purchase("lifetime"), monthly], owned: ["lifetime"], price: 999) == "monthly")
    // Nothing is new: the client asks again.
    #expect(meant([purchase("coins"), purchase("lifetime")], owned: ["coins", "lifetime"]) == "coins")
    // What is over is not new.
    #expect(meant([purchase("coins"), purchase("yearly", ends: Self.now)]) == "coins")
    #expect(meant([purchase("lifetime", isCancelled: true), purchase("coins")]) == "coins")
    // Nor is what the catalog does not have.
    #expect(meant([purchase("unheard"), purchase("coins")]) == "coins")
    let five = PlayFabCatalog(offers: Self.catalog.offers, version: "5")
    #expect(meant([purchase("coins"), monthly], catalog: five) == "monthly")
  }

  /// A subscription that is nobody's yet stays in the receipt, whatever the client does with the consumable.
  @Test func besideANewSubscription() {
    #expect(meant([monthly, purchase("coins")]) == "coins")
    #expect(meant([purchase("coins"), monthly, purchase("yearly", ends: Self.now + 1)]) == "coins")
    #expect(meant([monthly, purchase("skin")], price: 299) == "skin")
    // The price is in another currency than the catalog's.
    #expect(meant([monthly, purchase("coins")], price: 999, currency: "EUR") == "coins")
    // The price is the subscription's, or not that of the other one.
    #expect(meant([monthly, purchase("coins")], price: 999) == "1097")
    #expect(meant([monthly, purchase("skin")], price: 298) == "1097")
  }

  /// What nobody can tell apart is refused: a client that finishes the wrong transaction would lose the purchase.
  @Test func severalNewOnes() {
    #expect(meant([purchase("coins"), purchase("gems")]) == "1097")
    #expect(meant([purchase("coins"), purchase("lifetime"), monthly], owned: ["monthly"]) == "1097")
    #expect(meant([monthly, purchase("yearly", ends: Self.now + 1)], price: 999) == "1097")
  }

  @Test func onlyTheNewestAreAskedAbout() {
    let many = (0...DoorRegistration.mostPurchases).map { number in
      LocalPurchase(key: key("\(number)"), transactionId: "1", productId: "coins", transactionIds: ["1"])
    }
    let choice = PlayFabChoice(many, Self.catalog, PlayFabPrice(amount: 1, currency: nil), now: 1)
    #expect(choice.keys.count == DoorRegistration.mostPurchases && choice.keys.first == many.first?.key)
  }
}
