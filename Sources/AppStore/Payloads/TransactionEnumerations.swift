public import Formats

/// The type of an in-app purchase.
public struct ProductType: ExactRawValue, Sendable, Codable {
  public let rawValue: String

  /// Creates a value, known or not.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// A subscription that renews until it is cancelled.
  public static let autoRenewable = ProductType(rawValue: "Auto-Renewable Subscription")
  /// Bought once, kept for good.
  public static let nonConsumable = ProductType(rawValue: "Non-Consumable")
  /// Used up, and bought again.
  public static let consumable = ProductType(rawValue: "Consumable")
  /// A subscription for a fixed time.
  public static let nonRenewing = ProductType(rawValue: "Non-Renewing Subscription")
}

/// Whether the customer bought the product or shares it.
public struct OwnershipType: ExactRawValue, Sendable, Codable {
  public let rawValue: String

  /// Creates a value, known or not.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Bought by this customer.
  public static let purchased = OwnershipType(rawValue: "PURCHASED")
  /// Bought by a family member.
  public static let familyShared = OwnershipType(rawValue: "FAMILY_SHARED")
}

/// The cause of a transaction.
public struct TransactionReason: ExactRawValue, Sendable, Codable {
  public let rawValue: String

  /// Creates a value, known or not.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The customer bought.
  public static let purchase = TransactionReason(rawValue: "PURCHASE")
  /// The App Store renewed.
  public static let renewal = TransactionReason(rawValue: "RENEWAL")
}

/// Why Apple took a transaction back.
public struct RevocationReason: RawRepresentable, Hashable, Sendable, Codable {
  public let rawValue: Int32

  /// Creates a value, known or not.
  public init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  /// Another reason, such as an accidental purchase.
  public static let other = RevocationReason(rawValue: 0)
  /// A real or perceived issue in the app.
  public static let appIssue = RevocationReason(rawValue: 1)
}

/// How Apple took a transaction back.
public struct RevocationType: ExactRawValue, Sendable, Codable {
  public let rawValue: String

  /// Creates a value, known or not.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Apple gave back all of the money.
  public static let refundFull = RevocationType(rawValue: "REFUND_FULL")
  /// Apple gave back a part of the money.
  public static let refundProrated = RevocationType(rawValue: "REFUND_PRORATED")
  /// Family sharing ended.
  public static let familyRevoke = RevocationType(rawValue: "FAMILY_REVOKE")
}
