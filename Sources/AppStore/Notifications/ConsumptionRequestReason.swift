public import Formats

/// Why a customer asked for a refund; unknown reasons are kept.
public struct ConsumptionRequestReason: ExactRawValue, Sendable, Codable {
  public let rawValue: String

  /// Creates a value, known or not.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The customer did not mean to buy it.
  public static let unintendedPurchase = ConsumptionRequestReason(rawValue: "UNINTENDED_PURCHASE")
  /// The customer did not receive it, or it did not work.
  public static let fulfillmentIssue = ConsumptionRequestReason(rawValue: "FULFILLMENT_ISSUE")
  /// The customer did not like it.
  public static let unsatisfied = ConsumptionRequestReason(rawValue: "UNSATISFIED_WITH_PURCHASE")
  /// A legal reason.
  public static let legal = ConsumptionRequestReason(rawValue: "LEGAL")
  /// Another reason.
  public static let other = ConsumptionRequestReason(rawValue: "OTHER")
}
