/// A life as Apple signs it.
extension Life {
  /// The payload of a transaction.
  func payload(_ transaction: LifeTransaction, signedAt date: Int64) -> TransactionPayload {
    var payload = TransactionPayload(
      transactionId: transaction.id, originalTransactionId: id, bundleId: terms.bundleId,
      productId: transaction.productId, purchaseDate: transaction.purchaseDate,
      originalPurchaseDate: transactions[0].purchaseDate, expiresDate: transaction.expiresDate, type: terms.kind.name,
      signedDate: date, environment: terms.environment.name, price: transaction.price, appTransactionId: "704\(id)")
    if isSubscription {
      payload.webOrderLineItemId = "2\(transaction.id)"
      payload.subscriptionGroupIdentifier = "20950511"
    }
    if terms.isFamilyShared { payload.inAppOwnershipType = "FAMILY_SHARED" }
    if transaction.isRenewal { payload.transactionReason = "RENEWAL" }
    payload.appAccountToken = terms.appAccountToken
    payload.isUpgraded = transaction.isUpgraded ? true : nil
    payload.previousOriginalTransactionId = previousId
    if let revocation = transaction.revocation {
      payload.revocationDate = revocation.date
      payload.revocationReason = revocation.reason
      payload.revocationType = revocation.type.rawValue
      payload.revocationPercentage = Int(revocation.percentage)
    }
    if let offer = transaction.offer {
      payload.offerType = offer.type
      payload.offerIdentifier = offer.identifier
      payload.offerDiscountType = offer.discountType
      payload.offerPeriod = offer.period
    }
    return payload
  }

  /// The renewal info; `nil` for a one-time purchase.
  func renewalPayload(signedAt date: Int64) -> RenewalPayload? {
    guard isSubscription else { return nil }
    var payload = RenewalPayload(
      originalTransactionId: id, productId: latest.productId, autoRenewProductId: next.productId,
      autoRenewStatus: willRenew ? 1 : 0, signedDate: date, environment: terms.environment.name,
      recentSubscriptionStartDate: runBegan, appTransactionId: "704\(id)")
    payload.expirationIntent = expirationIntent
    payload.isInBillingRetryPeriod = state == .grace || state == .billingRetry
    payload.gracePeriodExpiresDate = graceUntil
    payload.priceIncreaseStatus = priceIncreaseStatus
    payload.appAccountToken = terms.appAccountToken
    if willRenew {
      payload.renewalDate = graceUntil ?? latest.expiresDate
      payload.renewalPrice = next.offer?.isFree == true ? 0 : next.price
    }
    if let offer = next.offer {
      payload.offerType = offer.type
      payload.offerIdentifier = offer.identifier
      payload.offerDiscountType = offer.discountType
      payload.offerPeriod = offer.period
    }
    return payload
  }

  /// The latest transaction with the renewal info; `nil` for a one-time purchase.
  func subscription(signedAt date: Int64) -> StorePurchase.Subscription? {
    guard let renewal = renewalPayload(signedAt: date) else { return nil }
    return StorePurchase.Subscription(
      status: state.status, latest: payload(latest, signedAt: date), renewal: renewal)
  }

  /// Everything about the life, as the answers of the API show it.
  func purchase(asked transactionId: String, signedAt date: Int64) -> StorePurchase? {
    guard let asked = transactions.first(where: { $0.id == transactionId }) else { return nil }
    return StorePurchase(
      asked: payload(asked, signedAt: date), history: transactions.map { payload($0, signedAt: date) },
      subscription: subscription(signedAt: date))
  }
}
