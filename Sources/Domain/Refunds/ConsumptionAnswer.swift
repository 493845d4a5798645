import JSON

/// What Apple is told about a transaction whose customer wants the money back: the body of Send Consumption
/// Information, version 2. Nobody may send it without the customer's consent.
public struct ConsumptionAnswer: Sendable, Equatable {
  /// Whether the customer got the product, and why not.
  public enum Delivery: String, Sendable, CaseIterable {
    case delivered = "DELIVERED"
    case qualityIssue = "UNDELIVERED_QUALITY_ISSUE"
    case wrongItem = "UNDELIVERED_WRONG_ITEM"
    case serverOutage = "UNDELIVERED_SERVER_OUTAGE"
    case other = "UNDELIVERED_OTHER"
  }

  /// The decision that the publisher would like Apple to make.
  public enum Preference: String, Sendable, CaseIterable {
    case decline = "DECLINE"
    case grantFull = "GRANT_FULL"
    case grantProrated = "GRANT_PRORATED"
  }

  /// All of a product, in thousandths of a percent.
  public static let wholePercentage: Int32 = 100_000

  public let delivery: Delivery
  /// The part of the product that the customer has used, in thousandths of a percent; `nil` if it is not known.
  public let percentage: Int32?
  public let preference: Preference?
  /// Whether the customer could try the product before the purchase.
  public let isSampleProvided: Bool

  /// Creates an answer.
  public init(
    _ delivery: Delivery, percentage: Int32? = nil, preference: Preference? = nil, isSampleProvided: Bool
  ) {
    self.delivery = delivery
    self.percentage = percentage
    self.preference = preference
    self.isSampleProvided = isSampleProvided
  }

  /// A rule of Apple's that an answer breaks.
  public enum Defect: Sendable, Equatable {
    /// Apple computes the used part of a subscription itself.
    case percentageOfSubscription
    /// Nothing of what was not delivered can be used.
    case percentageOfUndelivered
    /// Apple needs to know the part that it shall pay back.
    case proratedWithoutPercentage
  }

  /// The rule that the answer breaks for a kind of product; `nil` if Apple takes it.
  public func defect(for kind: ProductKind) -> Defect? {
    if percentage != nil, kind == .autoRenewable { return .percentageOfSubscription }
    if let percentage, percentage != 0, delivery != .delivered { return .percentageOfUndelivered }
    let isPart = percentage.map { (1..<Self.wholePercentage).contains($0) } ?? false
    return preference == .grantProrated && kind != .autoRenewable && !isPart ? .proratedWithoutPercentage : nil
  }

  /// The body as Apple takes it, and as the ledger keeps it. Equal answers have equal bytes.
  public var body: [UInt8] {
    JSONWriter.object { writer in
      writer.member("consumptionPercentage", percentage.map(Int64.init))
      // Apple refuses every other value.
      writer.member("customerConsented", true)
      writer.member("deliveryStatus", delivery.rawValue)
      writer.member("refundPreference", preference?.rawValue)
      writer.member("sampleContentProvided", isSampleProvided)
    }
  }

  /// Reads a ``body``; `nil` for any other text.
  public init?(body: [UInt8]) {
    guard let members = try? JSONText(body, limits: .own).decoded(as: Members.self) else { return nil }
    self.init(
      members.deliveryStatus, percentage: members.consumptionPercentage, preference: members.refundPreference,
      isSampleProvided: members.sampleContentProvided)
  }

  private struct Members: Decodable {
    let deliveryStatus: Delivery
    let consumptionPercentage: Int32?
    let refundPreference: Preference?
    let sampleContentProvided: Bool
  }
}

extension ConsumptionAnswer.Delivery: Decodable {}
extension ConsumptionAnswer.Preference: Decodable {}
