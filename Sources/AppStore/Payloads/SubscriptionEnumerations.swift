/// Whether a subscription renews.
public struct AutoRenewStatus: RawRepresentable, Hashable, Sendable, Codable {
  public let rawValue: Int32

  /// Creates a value, known or not.
  public init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  /// It ends with the period.
  public static let off = AutoRenewStatus(rawValue: 0)
  /// It renews.
  public static let on = AutoRenewStatus(rawValue: 1)
}

/// Why a subscription expired.
public struct ExpirationIntent: RawRepresentable, Hashable, Sendable, Codable {
  public let rawValue: Int32

  /// Creates a value, known or not.
  public init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  /// The customer cancelled.
  public static let customerCancelled = ExpirationIntent(rawValue: 1)
  /// The payment failed.
  public static let billingError = ExpirationIntent(rawValue: 2)
  /// The customer did not consent to a price increase.
  public static let priceIncreaseRefused = ExpirationIntent(rawValue: 3)
  /// The product was not available at the renewal.
  public static let productUnavailable = ExpirationIntent(rawValue: 4)
  /// Another reason.
  public static let other = ExpirationIntent(rawValue: 5)
}

/// The customer's answer to a price increase.
public struct PriceIncreaseStatus: RawRepresentable, Hashable, Sendable, Codable {
  public let rawValue: Int32

  /// Creates a value, known or not.
  public init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  /// Apple asked, and the customer has not answered yet.
  public static let notAnswered = PriceIncreaseStatus(rawValue: 0)
  /// The customer consented, or Apple only had to tell the customer.
  public static let consented = PriceIncreaseStatus(rawValue: 1)
}

/// The state of an auto-renewable subscription.
public struct SubscriptionStatus: RawRepresentable, Hashable, Sendable, Codable {
  public let rawValue: Int32

  /// Creates a value, known or not.
  public init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  /// Active.
  public static let active = SubscriptionStatus(rawValue: 1)
  /// Expired.
  public static let expired = SubscriptionStatus(rawValue: 2)
  /// Apple retries the payment; no access.
  public static let billingRetry = SubscriptionStatus(rawValue: 3)
  /// Apple retries the payment; access stays.
  public static let gracePeriod = SubscriptionStatus(rawValue: 4)
  /// Refunded, or no longer shared.
  public static let revoked = SubscriptionStatus(rawValue: 5)
}
