public import Formats

/// The app's data for Apple about a purchase whose customer wants a refund.
public struct ConsumptionRequest: Hashable, Sendable, Codable {
  /// Whether and how the product was delivered.
  public struct DeliveryStatus: ExactRawValue, Sendable, Codable {
    public let rawValue: String

    /// Creates a status.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// It works.
    public static let delivered = DeliveryStatus(rawValue: "DELIVERED")
    /// Not delivered: it did not work.
    public static let qualityIssue = DeliveryStatus(rawValue: "UNDELIVERED_QUALITY_ISSUE")
    /// Not delivered: the wrong product.
    public static let wrongItem = DeliveryStatus(rawValue: "UNDELIVERED_WRONG_ITEM")
    /// Not delivered: a server was down.
    public static let serverOutage = DeliveryStatus(rawValue: "UNDELIVERED_SERVER_OUTAGE")
    /// Not delivered for another reason.
    public static let otherIssue = DeliveryStatus(rawValue: "UNDELIVERED_OTHER")
  }

  /// The decision that the app would like Apple to make.
  public struct RefundPreference: ExactRawValue, Sendable, Codable {
    public let rawValue: String

    /// Creates a preference.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// No refund.
    public static let decline = RefundPreference(rawValue: "DECLINE")
    /// All of it.
    public static let grantFull = RefundPreference(rawValue: "GRANT_FULL")
    /// A part of it.
    public static let grantProrated = RefundPreference(rawValue: "GRANT_PRORATED")
  }

  /// Whether the customer agreed that the app sends this data. Apple refuses every value but true.
  public var customerConsented: Bool
  /// Whether the customer could try the product before the purchase.
  public var sampleContentProvided: Bool
  /// Whether it was delivered.
  public var deliveryStatus: DeliveryStatus
  /// How much was used up, in thousandths of a percent.
  public var consumptionPercentage: Int32?
  /// The decision that the app would like.
  public var refundPreference: RefundPreference?

  /// Creates a request. The app may send nothing without the customer's consent.
  public init(
    customerConsented: Bool, sampleContentProvided: Bool, deliveryStatus: DeliveryStatus,
    consumptionPercentage: Int32? = nil, refundPreference: RefundPreference? = nil
  ) {
    self.customerConsented = customerConsented
    self.sampleContentProvided = sampleContentProvided
    self.deliveryStatus = deliveryStatus
    self.consumptionPercentage = consumptionPercentage
    self.refundPreference = refundPreference
  }
}
