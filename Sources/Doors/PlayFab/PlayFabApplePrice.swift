import Domain

/// The price of one item, as Apple signed it.
struct PlayFabApplePrice: Equatable {
  /// In thousandths of the currency.
  let thousandths: Int64
  let currency: CurrencyCode
  /// Whether the customer bought with an offer: a free trial, a lower price for a time, an offer code. The price is
  /// then the offer's, and Apple does not tell the one that is set up in the store.
  let isOfOffer: Bool

  /// - Parameter offer: what a transaction tells of its offer, if it is of one.
  /// - Returns: `nil` if Apple named no price. Old transactions have none.
  init?(
    thousandths: Int64?, currency: CurrencyCode?, offer: (type: Int32?, identifier: String?, discountType: String?)
  ) {
    guard let thousandths, let currency else { return nil }
    (self.thousandths, self.currency) = (thousandths, currency)
    isOfOffer = offer.type != nil || offer.identifier != nil || offer.discountType != nil
  }

  /// The price in hundredths of the currency, rounded: 1.995 dinars are 2.00.
  var rounded: Offer.Price { Offer.Price(amount: Self.hundredths(thousandths).rounded, currency: currency) }

  /// Whether an amount, in hundredths, pays one item, or as many as were bought.
  ///
  /// Three digits do not fit into hundredths. Clients cut the last one or round by it, for one item or for all.
  func isPaid(by amount: Int64, _ quantity: Int64) -> Bool {
    let quantity = max(1, quantity)
    let one = Self.hundredths(thousandths)
    var amounts = [one.cut, one.rounded]
    for amount in amounts { amounts += Self.product(amount, quantity) }
    for total in Self.product(thousandths, quantity) {
      let all = Self.hundredths(total)
      amounts += [all.cut, all.rounded]
    }
    return amounts.contains(amount)
  }

  private static func hundredths(_ thousandths: Int64) -> (cut: Int64, rounded: Int64) {
    let (cut, rest) = thousandths.quotientAndRemainder(dividingBy: 10)
    // A tenth of the largest number has room for one more.
    return (cut, rest >= 5 ? cut + 1 : cut)
  }

  /// One product, or none if it is beyond 64 bits.
  private static func product(_ one: Int64, _ other: Int64) -> [Int64] {
    let (product, isOverflow) = one.multipliedReportingOverflow(by: other)
    return isOverflow ? [] : [product]
  }
}
