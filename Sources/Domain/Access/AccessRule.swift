public import Formats

/// The rule that decided about access: the answer to "why?". An open set.
public struct AccessRule: ExactRawValue, Sendable {
  public let rawValue: String

  /// Creates a rule from its name.
  public init(rawValue: String) { self.rawValue = rawValue }
  private init(_ name: String) { rawValue = name }

  // Access.

  /// The period of the subscription is not over.
  public static let subscriptionActive = Self("subscriptionActive")
  /// The period is over, Apple tries again to charge, and the grace period is not over.
  public static let gracePeriod = Self("gracePeriod")
  /// The days of a non-renewing product are not over, or the offer sets none.
  public static let passActive = Self("passActive")
  /// A non-consumable product.
  public static let ownedForever = Self("ownedForever")
  /// A consumable product.
  public static let consumable = Self("consumable")

  /// Apple signed the purchase, and has not answered since. The access lasts a day at most
  /// (`grantWhileAppleIsAway`).
  public static let provisional = Self("provisional")

  /// Apple refunded the purchase, and the offer's refund policy lets the access last.
  public static let keptAfterRefund = Self("keptAfterRefund")

  /// A person of the publisher's gave the access by hand, until a date (``Grant``).
  public static let granted = Self("granted")

  // No access.

  /// The subscription or the pass is over.
  public static let expired = Self("expired")
  /// The period is over, and Apple tries again to charge; there is no grace period, or it is over.
  public static let billingRetry = Self("billingRetry")
  /// Apple signed that it took the transaction back.
  public static let revoked = Self("revoked")
  /// Apple's status, which is not signed, says that the purchase is revoked.
  public static let reportedRevoked = Self("reportedRevoked")
  /// The customer upgraded to another product, whose transaction is not known yet.
  public static let upgraded = Self("upgraded")
  /// No offer of the publisher has the product.
  public static let offerUnknown = Self("offerUnknown")
  /// A family member shares the purchase, and the offer does not allow that.
  public static let familySharingRefused = Self("familySharingRefused")
  /// The publisher does not allow purchases of the environment for the customer.
  public static let sandboxNotAllowed = Self("sandboxNotAllowed")
  /// The purchase gave access while Apple was away. Apple does not know it, or has not answered for too long.
  public static let unconfirmed = Self("unconfirmed")
  /// The customer has no purchase for the offer.
  public static let noPurchase = Self("noPurchase")

  /// Every rule that this version gives.
  public static let known: [Self] = [
    .subscriptionActive, .gracePeriod, .passActive, .ownedForever, .consumable, .provisional, .keptAfterRefund,
    .granted, .expired, .billingRetry, .revoked, .reportedRevoked, .upgraded, .offerUnknown, .familySharingRefused,
    .sandboxNotAllowed, .unconfirmed, .noPurchase,
  ]
}
