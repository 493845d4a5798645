import Domain

/// What made a customer's purchases change: `notification.reason` of `purchases.updated`. docs/compatibility/iaptic.md
/// shows the table.
enum IapticReason: String, Sendable, CaseIterable {
  /// An app sent a receipt, and the ledger learned something from it.
  case receiptValidated = "RECEIPT_VALIDATED"
  /// An app sent a receipt, and the ledger knew everything.
  case receiptRefreshed = "RECEIPT_REFRESHED"
  /// The purchase is new to the ledger.
  case purchased = "PURCHASED"
  case renewed = "RENEWED"
  case expired = "EXPIRED"
  case refunded = "REFUNDED"
  /// Apple took it back for another reason, for example because it is no longer shared.
  case revoked = "REVOKED"
  case willLapse = "WILL_LAPSE"
  case willAutoRenew = "WILL_AUTO_RENEW"
  case enteredGracePeriod = "ENTERED_GRACE_PERIOD"
  /// Apple moved the end of the period.
  case extended = "EXTENDED"
  case priceChangeConfirmed = "PRICE_CHANGE_CONFIRMED"
  case other = "OTHER"

  /// Derives the reason from a purchase before and after a change. The first line that fits counts.
  ///
  /// - Parameter now: milliseconds since 1970.
  static func of(before: Purchase?, after: Purchase, now: Int64) -> Self {
    if let taken = takenBack(before, after) { return taken }
    guard let before else { return .purchased }
    let (old, new) = (before.deciding, after.deciding)
    if old.transactionId != new.transactionId, let reason = ofNext(old, new) { return reason }
    let (oldRenewal, newRenewal) = (before.presentRenewal, after.presentRenewal)
    let isOver = now >= after.endOfSubscription ?? .max
    if !isOver, let grace = newRenewal?.graceExpiresDate, grace > new.expiresDate ?? .min,
      oldRenewal?.graceExpiresDate != grace
    {
      return .enteredGracePeriod
    }
    if let end = new.expiresDate, end > old.expiresDate ?? .max { return .extended }
    // The end may have passed since the ledger wrote the purchase last, although Apple says nothing.
    let wasOver = before.updatedAt ?? now >= before.endOfSubscription ?? .max
    let hasIntent = newRenewal?.expirationIntent != nil && oldRenewal?.expirationIntent == nil
    if isOver, !wasOver || hasIntent { return .expired }
    if newRenewal?.willRenew == false, oldRenewal?.willRenew != false { return .willLapse }
    if newRenewal?.willRenew == true, oldRenewal?.willRenew == false { return .willAutoRenew }
    if newRenewal?.priceIncreaseStatus == 1, oldRenewal?.priceIncreaseStatus != 1 { return .priceChangeConfirmed }
    return .other
  }

  /// Whether Apple has taken a transaction back since; of any period.
  private static func takenBack(_ before: Purchase?, _ after: Purchase) -> Self? {
    let new = after.transactions.filter { id, facts in
      facts.revocationDate != nil && before?.transactions[id]?.revocationDate == nil
    }
    if !new.isEmpty { return new.values.contains { !$0.isShared } ? .refunded : .revoked }
    return after.isReportedRevoked && before?.isReportedRevoked != true ? .revoked : nil
  }

  /// The reason of another deciding transaction; `nil` if that is only another name of what the user had.
  private static func ofNext(_ old: TransactionFacts, _ new: TransactionFacts) -> Self? {
    guard !new.isCopy(of: old) else { return nil }
    guard new.kind == .autoRenewable, new.purchaseDate >= old.purchaseDate else { return .other }
    if new.productId != old.productId { return .purchased }
    return new.isLaterPeriod(than: old) ? .renewed : .other
  }
}
