public import Domain
public import JSON

/// Signed renewal information, with the fields of `JWSRenewalInfoDecodedPayload`; it names no app.
public struct RenewalInfoPayload: Hashable, Sendable, Codable {
  /// The purchase that renews.
  public var originalTransactionId: OriginalTransactionId?
  /// The current product.
  public var productId: ProductId?
  /// The product of the next period.
  public var autoRenewProductId: ProductId?
  /// Whether it renews.
  public var autoRenewStatus: AutoRenewStatus?
  /// Why it expired.
  public var expirationIntent: ExpirationIntent?
  /// Whether Apple retries the payment.
  public var isInBillingRetryPeriod: Bool?
  /// When the grace period ends, in milliseconds since 1970.
  public var gracePeriodExpiresDate: Int64?
  /// The answer to a price increase.
  public var priceIncreaseStatus: PriceIncreaseStatus?
  /// The type of the next offer.
  public var offerType: OfferType?
  /// The next offer's code or id.
  public var offerIdentifier: String?
  /// How the next offer is paid.
  public var offerDiscountType: OfferDiscountType?
  /// The length of the next offer, as ISO 8601 says it.
  public var offerPeriod: String?
  /// When Apple signed, in milliseconds since 1970.
  public var signedDate: Int64?
  /// The environment of the purchase.
  public var environment: Environment?
  /// When the current run of periods began, in milliseconds since 1970.
  public var recentSubscriptionStartDate: Int64?
  /// When it renews, in milliseconds since 1970.
  public var renewalDate: Int64?
  /// The next price in thousandths of the currency.
  public var renewalPrice: Int64?
  /// The currency, as ISO 4217 says it.
  public var currency: CurrencyCode?
  /// Win-back offers for this customer, best first.
  public var eligibleWinBackOfferIds: [String]?
  /// The UUID that the app gave for its customer.
  public var appAccountToken: String?
  /// The id of the customer's download of the app.
  public var appTransactionId: AppTransactionId?
  /// How the next commitment is billed.
  public var renewalBillingPlanType: BillingPlanType?
  /// The renewal at the end of a commitment.
  public var commitmentInfo: RenewalCommitmentInfo?
  /// The data of the Advanced Commerce API, as Apple sent it.
  public var advancedCommerceInfo: JSONValue?
  /// A hash over the device. Only data that a device sends has it.
  public var deviceVerification: String?
  /// The UUID in that hash.
  public var deviceVerificationNonce: String?

  /// Creates an empty value, for tests and fakes.
  public init() {}
}
