extension TransactionFacts {
  /// Whether the customer got the period of the subscription for nothing: a trial.
  ///
  /// Apple tells how an offer is paid. It did not always, so an offer without a price is a trial, too.
  public var isTrial: Bool {
    guard kind == .autoRenewable else { return false }
    if let discount = offerDiscountType { return discount.utf8.elementsEqual("FREE_TRIAL".utf8) }
    return offerType != nil && price == 0
  }
}
