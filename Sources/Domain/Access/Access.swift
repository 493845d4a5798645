/// Whether a purchase lets its customer use an offer at a time, until when, and why.
public struct Access: Sendable, Equatable {
  public var isGranted: Bool
  /// The offer that has the product, with or without access; `nil` if no offer has it.
  public var offerId: String?
  /// When the access ends, or has ended, in milliseconds since 1970; `nil` if there is no end or it is not known.
  public var expiresAt: Int64?
  /// Whether a subscription renews; `nil` for other products, and if Apple has not said.
  public var willRenew: Bool?
  /// Whether Apple could not charge for the renewal and tries again.
  public var billingProblem: Bool
  public var environment: String
  public var productId: String
  public var rule: AccessRule

  /// Creates an access.
  public init(
    isGranted: Bool, offerId: String? = nil, expiresAt: Int64? = nil, willRenew: Bool? = nil,
    billingProblem: Bool = false, environment: String, productId: String, rule: AccessRule
  ) {
    self.isGranted = isGranted
    self.offerId = offerId
    self.expiresAt = expiresAt
    self.willRenew = willRenew
    self.billingProblem = billingProblem
    self.environment = environment
    self.productId = productId
    self.rule = rule
  }

  /// Decides about a purchase, whoever owns it.
  ///
  /// Only signed dates give access. A subscription is good until it expires or until its grace period ends. In billing
  /// retry without grace it is not good (Apple: App Store Server API, `status`). If the publisher does not allow it
  /// for the customer, a purchase from the sandbox gives nothing, whatever else is true of it.
  ///
  /// - Parameter now: milliseconds since 1970.
  public static func of(_ purchase: Purchase, rules: AccessRules, now: Int64) -> Access {
    let deciding = purchase.deciding
    let offer = rules.offers.offer(forProduct: deciding.productId)
    var access = Access(
      isGranted: false, offerId: offer?.id, environment: purchase.key.environment, productId: deciding.productId,
      rule: .expired)
    func refused(_ rule: AccessRule, since end: Int64? = nil) -> Access {
      access.rule = rule
      access.expiresAt = end
      return access
    }
    guard rules.allow(environment: access.environment) else { return refused(.sandboxNotAllowed) }
    if deciding.kind == .autoRenewable { access.willRenew = purchase.presentRenewal?.willRenew }
    if let date = deciding.revocationDate { return refused(.revoked, since: date) }
    if purchase.isReportedRevoked { return refused(.reportedRevoked) }
    let isInRetry = purchase.presentRenewal?.isInBillingRetry == true
    if let end = purchase.endOfSubscription {
      let isPaid = now < deciding.expiresDate ?? .min
      guard now < end else {
        access.billingProblem = isInRetry
        return refused(isInRetry ? .billingRetry : .expired, since: end == .min ? nil : end)
      }
      if deciding.isUpgraded { return refused(.upgraded) }
      access.billingProblem = !isPaid
      access.expiresAt = end
      access.rule = isPaid ? .subscriptionActive : .gracePeriod
    } else if deciding.kind == .nonRenewing {
      access.rule = .passActive
      // Apple knows no end of a non-renewing product; the publisher's offer sets it.
      if let days = offer?.accessDays {
        let end = deciding.purchaseDate.adding(Int64(days) * .millisecondsOfDay)
        guard now < end else { return refused(.expired, since: end) }
        access.expiresAt = end
      }
    } else {
      access.rule = deciding.kind == .consumable ? .consumable : .ownedForever
    }
    guard offer != nil else { return refused(.offerUnknown) }
    if let until = purchase.provisionalUntil {
      guard now < until else { return refused(.unconfirmed, since: until) }
      access.expiresAt = min(access.expiresAt ?? .max, until)
      access.rule = .provisional
    }
    access.isGranted = true
    return access
  }

  /// Returns how long the answer about a purchase may serve further registrations: no longer than the access that it
  /// gives.
  ///
  /// - Parameter now: milliseconds since 1970.
  public static func reuse(of purchase: Purchase, atMost limit: Duration, now: Int64) -> Duration {
    switch purchase.deciding.kind {
    case .autoRenewable:
      let end = purchase.endOfSubscription ?? .min
      return end <= now ? .zero : min(limit, .milliseconds(end.adding(-now)))
    // The publisher's offer ends the access, and that may be at any moment.
    case .nonRenewing: return .zero
    case .nonConsumable, .consumable: return limit
    }
  }
}
