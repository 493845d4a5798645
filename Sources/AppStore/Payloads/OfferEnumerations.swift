public import Formats

/// The type of offer that a period was bought with.
public struct OfferType: RawRepresentable, Hashable, Sendable, Codable {
  public let rawValue: Int32

  /// Creates a value, known or not.
  public init(rawValue: Int32) {
    self.rawValue = rawValue
  }

  /// For new subscribers.
  public static let introductory = OfferType(rawValue: 1)
  /// Made by the app.
  public static let promotional = OfferType(rawValue: 2)
  /// Redeemed with a code.
  public static let offerCode = OfferType(rawValue: 3)
  /// For lapsed subscribers.
  public static let winBack = OfferType(rawValue: 4)
}

/// How an offer is paid.
public struct OfferDiscountType: ExactRawValue, Sendable, Codable {
  public let rawValue: String

  /// Creates a value, known or not.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Free for a time.
  public static let freeTrial = OfferDiscountType(rawValue: "FREE_TRIAL")
  /// A lower price per period.
  public static let payAsYouGo = OfferDiscountType(rawValue: "PAY_AS_YOU_GO")
  /// A lower price for several periods at once.
  public static let payUpFront = OfferDiscountType(rawValue: "PAY_UP_FRONT")
  /// A lower price for a one-time purchase.
  public static let oneTime = OfferDiscountType(rawValue: "ONE_TIME")
}

/// How a subscription with a commitment is billed.
public struct BillingPlanType: ExactRawValue, Sendable, Codable {
  public let rawValue: String

  /// Creates a value, known or not.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The whole commitment at once.
  public static let billedUpfront = BillingPlanType(rawValue: "BILLED_UPFRONT")
  /// Month by month.
  public static let monthly = BillingPlanType(rawValue: "MONTHLY")
}
