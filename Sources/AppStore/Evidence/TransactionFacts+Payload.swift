public import Domain

extension TransactionFacts {
  /// Takes the facts out of a verified transaction.
  ///
  /// - Parameter payloadSHA256: of the decoded payload.
  /// - Throws: when a field is missing that decides about access, or when the effect of the product's type is unknown.
  public init(_ payload: TransactionPayload, payloadSHA256: [UInt8]) throws(EvidenceDefect) {
    guard let id = payload.transactionId, let original = payload.originalTransactionId, let bundle = payload.bundleId,
      let product = payload.productId, let environment = payload.environment, let bought = payload.purchaseDate,
      let signed = payload.signedDate
    else { throw .fieldMissing }
    guard let kind = payload.type.flatMap({ ProductKind(rawValue: $0.rawValue) }) else { throw .kindUnknown }
    try EvidenceDefect.check(
      dates: [bought, payload.originalPurchaseDate, payload.expiresDate, payload.revocationDate, signed],
      texts: [
        id.text, original.text, bundle.text, product.text, environment.text, payload.inAppOwnershipType?.rawValue,
        payload.currency?.text,
        payload.offerIdentifier, payload.offerDiscountType?.rawValue, payload.storefront,
        payload.revocationType?.rawValue, payload.previousOriginalTransactionId?.text, payload.appTransactionId?.text,
        payload.webOrderLineItemId?.text,
      ])
    self.init(
      transactionId: id, originalTransactionId: original, bundleId: bundle, productId: product, kind: kind,
      environment: environment, purchaseDate: bought,
      originalPurchaseDate: payload.originalPurchaseDate, expiresDate: payload.expiresDate,
      revocationDate: payload.revocationDate, revocationReason: payload.revocationReason?.rawValue,
      revocationType: payload.revocationType?.rawValue,
      revocationPercentage: payload.revocationPercentage.map(Int32.init(clamping:)),
      isUpgraded: payload.isUpgraded ?? false, ownershipType: payload.inAppOwnershipType?.rawValue,
      quantity: payload.quantity, price: payload.price, currency: payload.currency,
      offerType: payload.offerType?.rawValue,
      offerIdentifier: payload.offerIdentifier, offerDiscountType: payload.offerDiscountType?.rawValue,
      storefront: payload.storefront,
      appAccountToken: payload.appAccountToken.flatMap(AppAccountToken.canonical),
      previousOriginalTransactionId: payload.previousOriginalTransactionId,
      appTransactionId: payload.appTransactionId, webOrderLineItemId: payload.webOrderLineItemId, signedDate: signed,
      payloadSHA256: payloadSHA256)
  }
}
