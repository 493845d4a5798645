/// A customer's access to one offer, from the purchase that gives it longest.
public struct OfferEntitlement: Sendable, Equatable {
  public var offerId: OfferId
  public var accessGranted: Bool
  /// When the access ends, or has ended, in milliseconds since 1970.
  public var expiresAt: Int64?
  public var willRenew: Bool?
  public var billingProblem: Bool
  public var environment: Environment
  /// The purchase that decides.
  public var purchase: PurchaseKey
  /// The version of that purchase.
  public var version: Int64
  public var rule: AccessRule

  /// Creates an entitlement.
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

  /// The entitlement as events tell it.
  public var told: ToldEntitlement {
    ToldEntitlement(
      offerId: offerId, accessGranted: accessGranted, expiresAt: expiresAt, willRenew: willRenew,
      billingProblem: billingProblem, environment: environment, isProvisional: rule == .provisional)
  }
}

/// The entitlements of a customer.
public enum Entitlements {
  /// Returns one entitlement for each offer that a purchase is for, in the order of the bytes of their ids.
  ///
  /// A consumable is no entitlement: its event tells the publisher to credit it, and then it is used up.
  ///
  /// The purchase that gives access longest decides; no end is longer than any end. If none gives access, the latest
  /// purchase tells the reason. Among equals the lesser key decides, so production comes before the sandbox.
  ///
  /// - Parameters:
  ///   - purchases: the customer's purchases, of one publisher.
  ///   - now: milliseconds since 1970.
  public static func of(purchases: [Purchase], rules: AccessRules, now: Int64) -> [OfferEntitlement] {
    var best: [OfferId: Candidate] = [:]
    for candidate in candidates(purchases, rules, now) {
      guard let offer = candidate.access.offerId else { continue }
      if best[offer].map(candidate.isBetter) ?? true { best[offer] = candidate }
    }
    return best.sorted { $0.key < $1.key }.map { $0.value.entitlement(to: $0.key) }
  }

  /// Returns until when a customer has paid for an offer, in milliseconds since 1970: the latest end of a purchase that
  /// gives access to it, without grace periods. If none gives access, it is the latest end of all.
  ///
  /// In a grace period it may have passed, although the customer has access. `nil` means no end, or no purchase.
  public static func paidUntil(_ offerId: OfferId, purchases: [Purchase], rules: AccessRules, now: Int64) -> Int64? {
    let all = candidates(purchases, rules, now).filter { $0.access.offerId == offerId }
    let granting = all.filter(\.access.isGranted)
    let ends = (granting.isEmpty ? all : granting).map { $0.access.paidUntil($0.purchase) }
    // An access without an end is later than every other.
    return !granting.isEmpty && ends.contains(nil) ? nil : ends.compactMap(\.self).max()
  }

  private static func candidates(_ purchases: [Purchase], _ rules: AccessRules, _ now: Int64) -> [Candidate] {
    purchases.filter { $0.deciding.kind != .consumable }
      .map { Candidate(purchase: $0, access: .of($0, rules: rules, now: now)) }
  }

  private struct Candidate {
    let purchase: Purchase
    let access: Access

    func isBetter(than other: Candidate) -> Bool {
      if access.isGranted != other.access.isGranted { return access.isGranted }
      if access.isGranted {
        let (end, otherEnd) = (access.expiresAt ?? .max, other.access.expiresAt ?? .max)
        if end != otherEnd { return end > otherEnd }
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
