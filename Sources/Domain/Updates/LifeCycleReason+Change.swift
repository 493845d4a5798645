import Formats

extension LifeCycleReason {
  /// Derives the reason from a purchase before and after a change, where no notification names it. The first line that
  /// fits counts.
  ///
  /// - Parameters:
  ///   - before: the purchase before the change; `nil` for one that is new to the ledger.
  ///   - isEnd: whether the purchase gave access when the ledger wrote it last, and gives none now.
  public static func of(before: Purchase?, after: Purchase, isEnd: Bool) -> Self {
    guard let before else { return after.deciding.kind == .autoRenewable ? .started : .purchased }
    if let reason = ofRevocation(before, after) { return reason }
    let (old, new) = (before.deciding, after.deciding)
    if old.transactionId != new.transactionId, let reason = ofNext(before, after) { return reason }
    if before.owner != after.owner { return .ownerChanged }
    let (known, renewal) = (before.presentRenewal, after.presentRenewal)
    if let end = new.expiresDate, let oldEnd = old.expiresDate, end > oldEnd { return .extended }
    if renewal?.isInBillingRetry == true, known?.isInBillingRetry != true { return .billingProblem }
    if isEnd { return hadGrace(after) ? .graceEnded : .ended }
    if let reason = ofPlan(known, renewal, new.productId) { return reason }
    if let willRenew = renewal?.willRenew, let did = known?.willRenew, willRenew != did {
      return willRenew ? .renewalOn : .renewalOff
    }
    if let status = renewal?.priceIncreaseStatus, status != known?.priceIncreaseStatus { return .priceIncrease }
    return .changed
  }

  private static func hadGrace(_ purchase: Purchase) -> Bool {
    purchase.deciding.kind == .autoRenewable
      && purchase.presentRenewal?.graceExpiresDate ?? .min > purchase.deciding.expiresDate ?? .min
  }

  private static func ofRevocation(_ before: Purchase, _ after: Purchase) -> Self? {
    var reason: Self?
    for (id, facts) in after.transactions {
      let known = before.transactions[id]
      if facts.revocationDate != nil, known?.revocationDate == nil {
        // A refund tells more than the end of sharing, whichever comes first here.
        if !facts.isShared { return .refunded }
        reason = .familyAccessEnded
      } else if facts.revocationDate == nil, known?.revocationDate != nil {
        reason = reason ?? .refundReversed
      }
    }
    return reason
  }

  /// The reason of another deciding transaction; `nil` if that is only another name of what the customer had, or of an
  /// earlier period.
  private static func ofNext(_ before: Purchase, _ after: Purchase) -> Self? {
    let (old, new) = (before.deciding, after.deciding)
    guard !new.isCopy(of: old) else { return nil }
    guard new.kind == .autoRenewable else { return .purchased }
    if new.productId != old.productId { return .planChanged }
    guard new.isLaterPeriod(than: old) else { return nil }
    if before.presentRenewal?.isInBillingRetry == true { return .recovered }
    // Apple's pause between two periods is short, unless the customer let the first one end.
    if let end = old.expiresDate, new.purchaseDate > end.adding(.millisecondsOfDay) { return .resumed }
    return .renewed
  }

  /// The reason of another product of the next period.
  private static func ofPlan(_ known: RenewalFacts?, _ renewal: RenewalFacts?, _ product: ProductId) -> Self? {
    guard let next = renewal?.nextProductId, next != known?.nextProductId ?? product else { return nil }
    return next == product ? .planChangeWithdrawn : .planChangeScheduled
  }
}
