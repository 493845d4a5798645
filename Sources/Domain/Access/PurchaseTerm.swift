import Formats

/// How long a purchase lasts, by itself: whichever offer has its product, and whoever may use it.
///
/// It is the one place that knows when a purchase is over. ``Access`` asks the publisher's rules besides. A door whose
/// contract speaks of products, and not of offers, shows the term.
public struct PurchaseTerm: Sendable, Equatable {
  /// Why the purchase runs, or is over.
  public let rule: AccessRule
  public let isRunning: Bool
  /// When the purchase ends, or has ended, in milliseconds since 1970; `nil` if there is no end or it is not known.
  public let end: Int64?
  /// Whether Apple could not charge for the renewal and tries again.
  public let billingProblem: Bool

  private init(_ rule: AccessRule, isRunning: Bool, until end: Int64?, billingProblem: Bool = false) {
    self.rule = rule
    self.isRunning = isRunning
    self.end = end
    self.billingProblem = billingProblem
  }

  /// Decides about a purchase.
  ///
  /// Only signed dates let it run. A subscription runs until it expires or until its grace period ends. In billing
  /// retry without grace it does not run (Apple: App Store Server API, `status`).
  ///
  /// - Parameters:
  ///   - offers: the publisher's. Apple knows no end of a non-renewing product; the offer sets it.
  ///   - now: milliseconds since 1970.
  public static func of(_ purchase: Purchase, offers: OfferCatalog, now: Int64) -> PurchaseTerm {
    if let refunded = refunded(purchase, offers) { return refunded }
    var term = bought(purchase, offers, now)
    if purchase.isKeptAfterRefund(offers), term.isRunning {
      term = PurchaseTerm(.keptAfterRefund, isRunning: true, until: term.end)
    }
    guard term.isRunning, let until = purchase.provisionalUntil else { return term }
    guard !purchase.isUnconfirmed(at: now) else {
      return over(.unconfirmed, since: until, billingProblem: term.billingProblem)
    }
    return PurchaseTerm(
      .provisional, isRunning: true, until: min(term.end ?? .max, until), billingProblem: term.billingProblem)
  }

  /// The term for which the customer has bought.
  private static func bought(_ purchase: Purchase, _ offers: OfferCatalog, _ now: Int64) -> PurchaseTerm {
    let deciding = purchase.deciding
    if let end = purchase.endOfSubscription { return subscription(purchase, end, now) }
    switch deciding.kind {
    case .nonRenewing:
      let end = offers.offer(forProduct: deciding.productId)?.endOfPass(bought: deciding.purchaseDate)
      let isRunning = end.map { now < $0 } ?? true
      return PurchaseTerm(isRunning ? .passActive : .expired, isRunning: isRunning, until: end)
    case .consumable: return PurchaseTerm(.consumable, isRunning: true, until: nil)
    case .nonConsumable, .autoRenewable: return PurchaseTerm(.ownedForever, isRunning: true, until: nil)
    }
  }

  private static func subscription(_ purchase: Purchase, _ end: Int64, _ now: Int64) -> PurchaseTerm {
    let deciding = purchase.deciding
    let known = end == .min ? nil : end
    guard now < end else {
      let isInRetry = purchase.presentRenewal?.isInBillingRetry == true
      return over(isInRetry ? .billingRetry : .expired, since: known, billingProblem: isInRetry)
    }
    // Apple does not tell when the upgrade was. It had happened when Apple signed it.
    if deciding.isUpgraded { return over(.upgraded, since: min(end, deciding.signedDate)) }
    let isPaid = now < deciding.expiresDate ?? .min
    return PurchaseTerm(
      isPaid ? .subscriptionActive : .gracePeriod, isRunning: true, until: known, billingProblem: !isPaid)
  }

  static func over(_ rule: AccessRule, since end: Int64?, billingProblem: Bool = false) -> PurchaseTerm {
    PurchaseTerm(rule, isRunning: false, until: end, billingProblem: billingProblem)
  }
}

extension Offer {
  /// When a non-renewing product of the offer ends, in milliseconds since 1970; `nil` if the offer sets no end.
  func endOfPass(bought purchaseDate: Int64) -> Int64? {
    accessDays.map { purchaseDate.adding(Int64($0) * .millisecondsOfDay) }
  }
}
