import Domain

/// What the customer paid, as the request of `ValidateIOSReceipt` says.
struct PlayFabPrice: Equatable {
  /// In hundredths of the currency.
  let amount: Int64
  /// `nil` if the request names none.
  let currency: CurrencyCode?

  /// Checks the price before anything is accepted.
  ///
  /// PlayFab means the price that is set up in the store. With an offer, Apple's is another one by design: a trial
  /// costs nothing. So the two are not compared then, and only the catalog's price can contradict the request.
  ///
  /// - Parameters:
  ///   - catalog: the price of the offer.
  ///   - apple: the price that Apple signed, if it is known already. A receipt does not have it.
  ///   - quantity: how many were bought.
  /// - Throws: `InvalidCurrencyCode` for a currency that cannot be right, `InvalidParams` for such an amount.
  func check(catalog: Offer.Price?, apple: PlayFabApplePrice?, quantity: Int64) throws(PlayFabError) {
    if let currency, !currency.isKnown {
      throw .invalidCurrencyCode("CurrencyCode: \(currency.text.prefix(100)) is not a code of ISO 4217.")
    }
    let catalogs = catalog.flatMap { isIn($0.currency) ? $0 : nil }
    let apples = apple.flatMap { isIn($0.currency) ? $0 : nil }
    guard catalogs != nil || apples != nil else {
      // The storefront may sell in another currency than the catalog's. Only Apple's own price tells.
      guard apple == nil else {
        let currencies = [catalog?.currency, apple?.currency].compactMap { $0?.text }.joined(separator: " or ")
        throw .invalidCurrencyCode("CurrencyCode: the price is not in \(currency ?? ""), but in \(currencies).")
      }
      return
    }
    if catalogs?.isPaid(by: amount, quantity) == true || apples?.isPaid(by: amount, quantity) == true { return }
    // Nobody here knows the store's price in this currency.
    if let apples, apples.isOfOffer, catalogs?.currency != apples.currency { return }
    throw .invalidParams("PurchasePrice", "The amount is neither the catalog's price nor the one that Apple charged.")
  }

  /// Whether the request's currency may be this one.
  func isIn(_ other: CurrencyCode) -> Bool { currency.map { $0 == other } ?? true }

  /// The transaction that the answer records: the request's, unless Apple says otherwise. With an offer, that is what
  /// Apple charged, whatever the store's price is.
  ///
  /// - Parameter apple: the price that Apple signed, once it has answered.
  func recorded(catalog: Offer.Price?, apple: PlayFabApplePrice?, quantity: Int64) -> PlayFabRecordedPrice {
    let currency = currency ?? apple?.currency ?? catalog?.currency ?? "USD"
    let mine = PlayFabRecordedPrice(source: .request, currency: currency, total: amount)
    guard let apple else { return mine }
    let isApples = apple.currency == currency && apple.isPaid(by: amount, quantity)
    let isCatalogs =
      catalog.map { $0.currency == currency && $0.isPaid(by: amount, quantity) } ?? false
    return isApples || isCatalogs && !apple.isOfOffer
      ? mine : PlayFabRecordedPrice(source: nil, currency: apple.currency, total: apple.rounded.amount)
  }
}

/// The price that an answer records for a purchase.
struct PlayFabRecordedPrice: Equatable {
  /// Where the price is from; PlayFab has no word for Apple.
  let source: Source?
  let currency: CurrencyCode
  /// In hundredths of the currency.
  let total: Int64

  enum Source: String {
    case request = "Request"
    case catalog = "Catalog"
  }

  /// The price of a restored purchase.
  static func restored(catalog: Offer.Price?, apple: PlayFabApplePrice?) -> PlayFabRecordedPrice? {
    if let catalog { return PlayFabRecordedPrice(source: .catalog, currency: catalog.currency, total: catalog.amount) }
    return apple.map { PlayFabRecordedPrice(source: nil, currency: $0.currency, total: $0.rounded.amount) }
  }
}

extension Offer.Price {
  /// Whether an amount pays one item, or as many as were bought.
  func isPaid(by amount: Int64, _ quantity: Int64) -> Bool {
    let (all, isOverflow) = self.amount.multipliedReportingOverflow(by: max(1, quantity))
    return amount == self.amount || !isOverflow && amount == all
  }
}
