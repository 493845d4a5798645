/// Decides the access that a verified purchase gives its customer.
public enum Entitlement {
  /// Returns the outcome at a time, before it is known whether another customer owns the purchase.
  ///
  /// Only signed dates give access. A subscription is good until it expires or until its grace period ends. In billing
  /// retry without grace it is not good (Apple: App Store Server API, `status`). If the publisher does not allow it
  /// for the customer, a purchase from the sandbox gives nothing, whatever else is true of it.
  ///
  /// - Parameter now: milliseconds since 1970.
  public static func outcome(of purchase: VerifiedPurchase, rules: AccessRules, now: Int64) -> Outcome {
    func outcome(_ result: SynchronizationResult, offer: Offer? = nil) -> Outcome {
      Outcome(
        result, accessGranted: offer != nil, offerId: offer?.id,
        originalTransactionId: purchase.originalTransactionId, environment: purchase.environment)
    }
    guard rules.allow(environment: purchase.environment) else { return outcome(.sandboxNotAllowed) }
    if purchase.revocationDate != nil || purchase.isReportedRevoked { return outcome(.purchaseRevoked) }
    if hasEnded(purchase, now: now) { return outcome(.receivedExpiredPurchase) }
    guard let offer = rules.offers.offer(forProduct: purchase.productId) else { return outcome(.offerNotFound) }
    if purchase.kind == .nonRenewing, let days = offer.accessDays {
      // Apple knows no end of a non-renewing product; the publisher's offer sets it.
      guard now < purchase.purchaseDate + Int64(days) * 86_400_000 else { return outcome(.receivedExpiredPurchase) }
    }
    return outcome(.purchaseSynchronized, offer: offer)
  }

  /// Returns how long the answer about a purchase may serve further registrations: no longer than the access that it
  /// gives.
  ///
  /// - Parameter now: milliseconds since 1970.
  public static func reuse(of purchase: VerifiedPurchase, atMost limit: Duration, now: Int64) -> Duration {
    switch purchase.kind {
    case .autoRenewable:
      let end = end(of: purchase)
      return end <= now ? .zero : min(limit, .milliseconds(end - now))
    // The publisher's offer ends the access, and that may be at any moment.
    case .nonRenewing: return .zero
    case .nonConsumable, .consumable: return limit
    }
  }

  /// The end of a subscription. Apple makes no subscription without an end, so one without gives nothing.
  private static func end(of purchase: VerifiedPurchase) -> Int64 {
    max(purchase.expiresDate ?? .min, purchase.gracePeriodExpiresDate ?? .min)
  }

  /// Whether a subscription that was not over at one time, in milliseconds since 1970, is over at a later one.
  public static func hasEnded(_ purchase: VerifiedPurchase, since then: Int64, now: Int64) -> Bool {
    hasEnded(purchase, now: now) && !hasEnded(purchase, now: then)
  }

  private static func hasEnded(_ purchase: VerifiedPurchase, now: Int64) -> Bool {
    guard purchase.kind == .autoRenewable else { return false }
    return end(of: purchase) <= now
  }
}
