import Domain
import Formats

/// What the customer paid, as the request of `ValidateIOSReceipt` says.
struct PlayFabPrice: Equatable {
  /// In hundredths of the currency.
  let amount: Int64
  /// `nil` if the request names none.
  let currency: String?

  /// Checks the price before anything is accepted.
  ///
  /// - Parameters:
  ///   - catalog: the price of the offer.
  ///   - apple: the price that Apple signed, if it is known already. A receipt does not have it.
  ///   - quantity: how many were bought.
  /// - Throws: `InvalidCurrencyCode` for a currency that cannot be right, `InvalidParams` for such an amount.
  func check(catalog: Offer.Price?, apple: Offer.Price?, quantity: Int64) throws(PlayFabError) {
    if let currency, !Currency.isKnown(currency) {
      throw .invalidCurrencyCode("CurrencyCode: \(currency.prefix(100)) is no code of ISO 4217.")
    }
    let known = [catalog, apple].compactMap(\.self)
    let inCurrency = known.filter { price in currency.map { $0.exact == price.currency.exact } ?? true }
    guard !inCurrency.isEmpty else {
      // The storefront may sell in another currency than the catalog's. Only Apple's own price tells.
      guard apple == nil else {
        let currencies = known.map(\.currency).joined(separator: " or ")
        throw .invalidCurrencyCode("CurrencyCode: the price is not in \(currency ?? ""), but in \(currencies).")
      }
      return
    }
    guard inCurrency.contains(where: { $0.isPaid(by: amount, quantity) }) else {
      throw .invalidParams("PurchasePrice", "The amount is neither the catalog's price nor the one that Apple charged.")
    }
  }

  /// The transaction that the answer records: the request's, unless Apple says otherwise.
  ///
  /// - Parameter apple: the price that Apple signed, once it has answered.
  func recorded(catalog: Offer.Price?, apple: Offer.Price?, quantity: Int64) -> PlayFabRecordedPrice {
    let currency = currency ?? apple?.currency ?? catalog?.currency ?? "USD"
    let mine = PlayFabRecordedPrice(source: .request, currency: currency, total: amount)
    guard let apple else { return mine }
    let isApples = apple.currency.exact == currency.exact && apple.isPaid(by: amount, quantity)
    let isCatalogs =
      catalog.map { $0.currency.exact == currency.exact && $0.isPaid(by: amount, quantity) } ?? false
    return isApples || isCatalogs
      ? mine : PlayFabRecordedPrice(source: nil, currency: apple.currency, total: apple.amount)
  }
}

/// The price that an answer records for a purchase.
struct PlayFabRecordedPrice: Equatable {
  /// Where the price is from; PlayFab has no word for Apple.
  let source: Source?
  let currency: String
  /// In hundredths of the currency.
  let total: Int64

  enum Source: String {
    case request = "Request"
    case catalog = "Catalog"
  }

  /// The price of a restored purchase.
  static func restored(catalog: Offer.Price?, apple: Offer.Price?) -> PlayFabRecordedPrice? {
    if let catalog { return PlayFabRecordedPrice(source: .catalog, currency: catalog.currency, total: catalog.amount) }
    return apple.map { PlayFabRecordedPrice(source: nil, currency: $0.currency, total: $0.amount) }
  }
}

extension Offer.Price {
  /// The price that Apple signed.
  init?(thousandths: Int64?, currency: String?) {
    guard let thousandths, let currency else { return nil }
    self.init(amount: thousandths / 10, currency: currency)
  }

  /// Whether an amount pays one item, or as many as were bought.
  fileprivate func isPaid(by amount: Int64, _ quantity: Int64) -> Bool {
    let (all, isOverflow) = self.amount.multipliedReportingOverflow(by: max(1, quantity))
    return amount == self.amount || !isOverflow && amount == all
  }
}
