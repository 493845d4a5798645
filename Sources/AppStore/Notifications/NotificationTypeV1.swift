public import Formats

/// The event that a notification of version 1 tells of; unknown types are kept.
public struct NotificationTypeV1: ExactRawValue, Sendable {
  public let rawValue: String

  /// Creates a value, known or not.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The customer subscribed.
  public static let initialBuy = NotificationTypeV1(rawValue: "INITIAL_BUY")
  /// The customer subscribed again, or upgraded.
  public static let interactiveRenewal = NotificationTypeV1(rawValue: "INTERACTIVE_RENEWAL")
  /// A subscription renewed.
  public static let didRenew = NotificationTypeV1(rawValue: "DID_RENEW")
  /// A subscription renewed after a failed payment.
  public static let didRecover = NotificationTypeV1(rawValue: "DID_RECOVER")
  /// The payment of a renewal failed.
  public static let didFailToRenew = NotificationTypeV1(rawValue: "DID_FAIL_TO_RENEW")
  /// The customer chose another product for the next renewal.
  public static let didChangeRenewalPref = NotificationTypeV1(rawValue: "DID_CHANGE_RENEWAL_PREF")
  /// Renewal was switched on or off.
  public static let didChangeRenewalStatus = NotificationTypeV1(rawValue: "DID_CHANGE_RENEWAL_STATUS")
  /// Apple told the customer of a higher price.
  public static let priceIncreaseConsent = NotificationTypeV1(rawValue: "PRICE_INCREASE_CONSENT")
  /// Apple's support gave money back, or the customer upgraded.
  public static let cancel = NotificationTypeV1(rawValue: "CANCEL")
  /// A transaction was refunded.
  public static let refund = NotificationTypeV1(rawValue: "REFUND")
  /// Family sharing ended for this member.
  public static let revoke = NotificationTypeV1(rawValue: "REVOKE")
  /// The customer asked for a refund, and Apple asks about the consumption.
  public static let consumptionRequest = NotificationTypeV1(rawValue: "CONSUMPTION_REQUEST")
}
