public import Formats

/// More about the event; unknown subtypes are kept.
public struct NotificationSubtype: ExactRawValue, Sendable, Codable {
  public let rawValue: String

  /// Creates a value, known or not.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// For the first time.
  public static let initialBuy = NotificationSubtype(rawValue: "INITIAL_BUY")
  /// Again, or another product of the group.
  public static let resubscribe = NotificationSubtype(rawValue: "RESUBSCRIBE")
  /// To a higher plan.
  public static let upgrade = NotificationSubtype(rawValue: "UPGRADE")
  /// To a lower plan.
  public static let downgrade = NotificationSubtype(rawValue: "DOWNGRADE")
  /// Renewal is on.
  public static let autoRenewEnabled = NotificationSubtype(rawValue: "AUTO_RENEW_ENABLED")
  /// Renewal is off.
  public static let autoRenewDisabled = NotificationSubtype(rawValue: "AUTO_RENEW_DISABLED")
  /// After a failed payment.
  public static let billingRecovery = NotificationSubtype(rawValue: "BILLING_RECOVERY")
  /// The customer switched renewal off.
  public static let voluntary = NotificationSubtype(rawValue: "VOLUNTARY")
  /// The payment did not succeed in time.
  public static let billingRetry = NotificationSubtype(rawValue: "BILLING_RETRY")
  /// The customer did not agree to a higher price.
  public static let priceIncrease = NotificationSubtype(rawValue: "PRICE_INCREASE")
  /// The product was not for sale.
  public static let productNotForSale = NotificationSubtype(rawValue: "PRODUCT_NOT_FOR_SALE")
  /// A grace period began.
  public static let gracePeriod = NotificationSubtype(rawValue: "GRACE_PERIOD")
  /// The customer has not answered yet.
  public static let pending = NotificationSubtype(rawValue: "PENDING")
  /// The customer agreed, or Apple needs no consent.
  public static let accepted = NotificationSubtype(rawValue: "ACCEPTED")
  /// A mass extension is complete.
  public static let summary = NotificationSubtype(rawValue: "SUMMARY")
  /// The same, as the page of Apple's answer to a mass extension spells it.
  public static let success = NotificationSubtype(rawValue: "SUCCESS")
  /// A mass extension failed for one subscription.
  public static let failure = NotificationSubtype(rawValue: "FAILURE")
  /// A token was not reported.
  public static let unreported = NotificationSubtype(rawValue: "UNREPORTED")
  /// A token was made.
  public static let created = NotificationSubtype(rawValue: "CREATED")
  /// A token is still active.
  public static let activeTokenReminder = NotificationSubtype(rawValue: "ACTIVE_TOKEN_REMINDER")
}
