import Formats

/// Whether a purchase lets its customer use an offer at a time, until when, and why.
public struct Access: Sendable, Equatable {
  public var isGranted: Bool
  /// The offer that has the product, with or without access; `nil` if no offer has it.
  public var offerId: OfferId?
  /// When the access ends, or has ended, in milliseconds since 1970; `nil` if there is no end or it is not known.
  public var expiresAt: Int64?
  /// Whether a subscription renews; `nil` for other products, and if Apple has not said.
  public var willRenew: Bool?
  /// Whether Apple could not charge for the renewal and tries again.
  public var billingProblem: Bool
  public var environment: Environment
  public var productId: ProductId
  public var rule: AccessRule

  /// Creates an access.
  public init(
    isGranted: Bool, offerId: OfferId? = nil, expiresAt: Int64? = nil, willRenew: Bool? = nil,
    billingProblem: Bool = false, environment: Environment, productId: ProductId, rule: AccessRule
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
  /// The purchase must run (``PurchaseTerm``), and an offer must have its product. If the publisher does not allow it
  /// for the customer, a purchase from the sandbox gives nothing, whatever else is true of it. If only an override
  /// allows it, the access ends with the override at the latest.
  ///
  /// - Parameter now: milliseconds since 1970.
  public static func of(_ purchase: Purchase, rules: AccessRules, now: Int64) -> Access {
    let deciding = purchase.deciding
    let offer = rules.offers.offer(forProduct: deciding.productId)
    var access = Access(
      isGranted: false, offerId: offer?.id, environment: purchase.key.environment, productId: deciding.productId,
      rule: .sandboxNotAllowed)
    guard rules.allow(environment: access.environment, at: now) else { return access }
    if deciding.kind == .autoRenewable { access.willRenew = purchase.presentRenewal?.willRenew }
    if deciding.isShared, offer?.grantsFamilyShared == false {
      access.rule = .familySharingRefused
      return access
    }
    let term = PurchaseTerm.of(purchase, offers: rules.offers, now: now)
    access.billingProblem = term.billingProblem
    guard offer != nil || !(term.isRunning || term.rule == .unconfirmed) else {
      access.rule = .offerUnknown
      return access
    }
    access.isGranted = term.isRunning
    access.rule = term.rule
    // Apple signs no date for these two.
    access.expiresAt = [.reportedRevoked, .upgraded].contains(term.rule) ? nil : term.end
    if term.isRunning, let end = rules.end(of: access.environment) { access.expiresAt = min(term.end ?? end, end) }
    return access
  }

  /// The end of the access to `purchase` without a grace period; `nil` if there is no end or it is not known.
  public func paidUntil(_ purchase: Purchase) -> Int64? {
    guard rule == .gracePeriod, let paid = purchase.deciding.expiresDate else { return expiresAt }
    return min(paid, expiresAt ?? paid)
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
