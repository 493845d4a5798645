extension PurchaseTerm {
  /// The end of a purchase that Apple refunded or took back; `nil` if it did not, or if the offer lets the access last.
  static func refunded(_ purchase: Purchase, _ offers: OfferCatalog) -> PurchaseTerm? {
    guard !purchase.isKeptAfterRefund(offers) else { return nil }
    let deciding = purchase.deciding
    if let date = deciding.revocationDate { return over(.revoked, since: date) }
    guard purchase.isReportedRevoked else { return nil }
    return over(.reportedRevoked, since: [purchase.status?.date, deciding.expiresDate].compactMap(\.self).min())
  }
}

extension Purchase {
  /// Whether Apple refunded the deciding transaction, and its offer lets the access last all the same.
  func isKeptAfterRefund(_ offers: OfferCatalog) -> Bool {
    guard deciding.revocationDate != nil, let offer = offers.offer(forProduct: deciding.productId) else { return false }
    return offer.keepsAccess(of: deciding)
  }
}

extension Offer {
  /// Whether a refunded transaction goes on to give access.
  fileprivate func keepsAccess(of transaction: TransactionFacts) -> Bool {
    guard !transaction.isShared else { return false }
    switch refunds {
    case .endAccess: return false
    case .reportOnly: return true
    case .keepUntilPeriodEnd:
      return transaction.kind == .autoRenewable || transaction.kind == .nonRenewing && accessDays != nil
    }
  }
}
