public import Domain

/// How far a subscription with a commitment is.
public struct TransactionCommitmentInfo: Hashable, Sendable, Codable {
  /// The number of this billing period, from 1.
  public var billingPeriodNumber: Int32?
  /// How many billing periods the commitment has.
  public var totalBillingPeriods: Int32?
  /// The end of the commitment, in milliseconds since 1970.
  public var commitmentExpiresDate: Int64?
  /// The price of the whole commitment in thousandths of the currency.
  public var commitmentPrice: Int64?

  /// Creates an empty value, for tests and fakes.
  public init() {}
}

/// The renewal at the end of a commitment.
public struct RenewalCommitmentInfo: Hashable, Sendable, Codable {
  /// The product that renews.
  public var commitmentAutoRenewProductId: ProductId?
  /// Whether it renews.
  public var commitmentAutoRenewStatus: AutoRenewStatus?
  /// How the next commitment is billed.
  public var commitmentRenewalBillingPlanType: BillingPlanType?
  /// When it renews, in milliseconds since 1970.
  public var commitmentRenewalDate: Int64?
  /// The next price in thousandths of the currency.
  public var commitmentRenewalPrice: Int64?

  /// Creates an empty value, for tests and fakes.
  public init() {}
}
