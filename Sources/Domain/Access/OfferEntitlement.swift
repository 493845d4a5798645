/// A customer's access to one offer, from the purchase or the grant that gives it longest.
public struct OfferEntitlement: Sendable, Equatable {
  public var offerId: OfferId
  public var accessGranted: Bool
  /// When the access ends, or has ended, in milliseconds since 1970.
  public var expiresAt: Int64?
  public var willRenew: Bool?
  public var billingProblem: Bool
  /// That of the purchase. A grant counts as production: it is for a customer, and not for a test.
  public var environment: Environment
  /// The purchase that decides; `nil` if a grant does.
  public var purchase: PurchaseKey?
  /// The version of that purchase.
  public var version: Int64?
  /// The grant that decides; `nil` if a purchase does.
  public var grant: GrantId?
  public var rule: AccessRule

  /// Creates an entitlement from a purchase.
  public init(
    offerId: OfferId, accessGranted: Bool, expiresAt: Int64? = nil, willRenew: Bool? = nil,
    billingProblem: Bool = false, environment: Environment, purchase: PurchaseKey, version: Int64, rule: AccessRule
  ) {
    self.offerId = offerId
    self.accessGranted = accessGranted
    self.expiresAt = expiresAt
    self.willRenew = willRenew
    self.billingProblem = billingProblem
    self.environment = environment
    self.purchase = purchase
    self.version = version
    self.rule = rule
  }

  /// Creates an entitlement from an open grant.
  public init(offerId: OfferId, grant: GrantId, until end: Int64) {
    self.offerId = offerId
    accessGranted = true
    expiresAt = end
    billingProblem = false
    environment = .production
    self.grant = grant
    rule = .granted
  }

  /// The entitlement as events tell it.
  public var told: ToldEntitlement {
    ToldEntitlement(
      offerId: offerId, accessGranted: accessGranted, expiresAt: expiresAt, willRenew: willRenew,
      billingProblem: billingProblem, environment: environment, isProvisional: rule == .provisional,
      isGranted: grant != nil)
  }
}

/// The entitlements of a customer.
public enum Entitlements {
  /// Returns one entitlement for each offer that a purchase or an open grant is for, in the order of the bytes of their
  /// ids.
  ///
  /// A consumable is no entitlement: its event tells the publisher to credit it, and then it is used up.
  ///
  /// The purchase or the grant that gives access longest decides; no end is longer than any end. If none gives access,
  /// the latest purchase tells the reason. Among equals a purchase comes before a grant, and production before the
  /// sandbox. If an override of the sandbox ends several at once, the one decides that would last longest without it.
  /// Then the lesser key decides.
  ///
  /// A grant for an offer that the publisher does not have any more gives nothing.
  ///
  /// - Parameters:
  ///   - purchases: the customer's purchases, of one publisher.
  ///   - grants: the customer's grants.
  ///   - now: milliseconds since 1970.
  public static func of(
    purchases: [Purchase], grants: [Grant], rules: AccessRules, now: Int64
  ) -> [OfferEntitlement] {
    var best: [OfferId: Candidate] = [:]
    for candidate in candidates(purchases, rules, now) {
      guard let offer = candidate.access.offerId else { continue }
      if best[offer].map(candidate.isBetter) ?? true { best[offer] = candidate }
    }
    var entitlements = best.reduce(into: [:]) { $0[$1.key] = $1.value.entitlement(to: $1.key) }
    for (offer, grant) in open(grants, rules, now) {
      if let other = entitlements[offer], other.accessGranted, other.expiresAt ?? .max >= grant.endsAt { continue }
      entitlements[offer] = OfferEntitlement(offerId: offer, grant: grant.id, until: grant.endsAt)
    }
    return entitlements.sorted { $0.key < $1.key }.map(\.value)
  }

  /// Returns until when a customer has paid for an offer, in milliseconds since 1970: the latest end of a purchase that
  /// gives access to it, without grace periods, or of an open grant. If none gives access, it is the latest end of all
  /// purchases.
  ///
  /// In a grace period it may have passed, although the customer has access. `nil` means no end, or no purchase.
  public static func paidUntil(
    _ offerId: OfferId, purchases: [Purchase], grants: [Grant], rules: AccessRules, now: Int64
  ) -> Int64? {
    let all = candidates(purchases, rules, now).filter { $0.access.offerId == offerId }
    let granting = all.filter(\.access.isGranted)
    let given = open(grants, rules, now)[offerId]?.endsAt
    let isGiven = !granting.isEmpty || given != nil
    let ends = (isGiven ? granting : all).map { $0.access.paidUntil($0.purchase) }
    // An access without an end is later than every other.
    return isGiven && ends.contains(nil) ? nil : (ends + [given]).compactMap(\.self).max()
  }

  /// Returns the offers that two subscriptions or more give at once, and will be charged for again.
  ///
  /// - Parameters:
  ///   - purchases: of one customer.
  ///   - now: milliseconds since 1970.
  public static func paidTwice(purchases: [Purchase], rules: AccessRules, now: Int64) -> [OfferId] {
    let live = purchases.compactMap { purchase -> OfferId? in
      let access = Access.of(purchase, rules: rules, now: now)
      let isLive = access.isGranted && access.willRenew == true && purchase.deciding.kind == .autoRenewable
      return isLive ? access.offerId : nil
    }
    return Dictionary(grouping: live) { $0 }.filter { $0.value.count > 1 }.keys.sorted()
  }

  /// The open grant of each offer that lasts longest.
  private static func open(_ grants: [Grant], _ rules: AccessRules, _ now: Int64) -> [OfferId: Grant] {
    if grants.isEmpty { return [:] }
    var longest: [OfferId: Grant] = [:]
    for grant in grants where grant.state(at: now) == .open && rules.offers.contains(grant.offerId) {
      if let other = longest[grant.offerId], (other.endsAt, grant.id) > (grant.endsAt, other.id) { continue }
      longest[grant.offerId] = grant
    }
    return longest
  }

  private static func candidates(_ purchases: [Purchase], _ rules: AccessRules, _ now: Int64) -> [Candidate] {
    purchases.filter { $0.deciding.kind != .consumable }
      .map { purchase in
        let isCapped = rules.end(of: purchase.key.environment) != nil
        let end = isCapped ? PurchaseTerm.of(purchase, offers: rules.offers, now: now).end ?? .max : 0
        return Candidate(purchase: purchase, access: .of(purchase, rules: rules, now: now), endWithoutOverride: end)
      }
  }

  private struct Candidate {
    let purchase: Purchase
    let access: Access
    /// When a purchase ends by itself whose access may end earlier, with an override of the sandbox; 0 for all others.
    let endWithoutOverride: Int64

    func isBetter(than other: Candidate) -> Bool {
      if access.isGranted != other.access.isGranted { return access.isGranted }
      if access.isGranted {
        let (end, otherEnd) = (access.expiresAt ?? .max, other.access.expiresAt ?? .max)
        if end != otherEnd { return end > otherEnd }
        if purchase.key.environment == other.purchase.key.environment, endWithoutOverride != other.endWithoutOverride {
          return endWithoutOverride > other.endWithoutOverride
        }
      } else {
        let (date, otherDate) = (purchase.deciding.purchaseDate, other.purchase.deciding.purchaseDate)
        if date != otherDate { return date > otherDate }
      }
      return purchase.key < other.purchase.key
    }

    func entitlement(to offerId: OfferId) -> OfferEntitlement {
      OfferEntitlement(
        offerId: offerId, accessGranted: access.isGranted, expiresAt: access.expiresAt, willRenew: access.willRenew,
        billingProblem: access.billingProblem, environment: access.environment, purchase: purchase.key,
        version: purchase.version, rule: access.rule)
    }
  }
}
