public import Domain
public import JSON

/// A signed transaction, with the fields of `JWSTransactionDecodedPayload`.
///
/// Every field is optional: Apple adds and leaves out fields by product type and age of the purchase. The decoder
/// ignores fields that are not listed.
public struct TransactionPayload: Hashable, Sendable, Encodable {
  /// The id of this transaction; new for every renewal.
  public var transactionId: TransactionId?
  /// The id of the purchase; the same for all its renewals.
  public var originalTransactionId: OriginalTransactionId?
  /// The id of a subscription period, the same for restored copies.
  public var webOrderLineItemId: WebOrderLineItemId?
  /// The app.
  public var bundleId: BundleId?
  /// The product.
  public var productId: ProductId?
  /// The subscription group of the product.
  public var subscriptionGroupIdentifier: String?
  /// When the App Store charged, in milliseconds since 1970.
  public var purchaseDate: Int64?
  /// When the purchase began, in milliseconds since 1970.
  public var originalPurchaseDate: Int64?
  /// When the period ends, in milliseconds since 1970.
  public var expiresDate: Int64?
  /// When Apple signed, in milliseconds since 1970.
  public var signedDate: Int64?
  /// When Apple took the transaction back, in milliseconds since 1970.
  public var revocationDate: Int64?
  /// How many were bought.
  public var quantity: Int32?
  /// The type of product.
  public var type: ProductType?
  /// The UUID that the app gave for its customer.
  public var appAccountToken: String?
  /// Bought or shared.
  public var inAppOwnershipType: OwnershipType?
  /// Why it was taken back.
  public var revocationReason: RevocationReason?
  /// How it was taken back.
  public var revocationType: RevocationType?
  /// The refunded part in thousandths of a percent.
  public var revocationPercentage: Int64?
  /// Whether the customer upgraded away from it.
  public var isUpgraded: Bool?
  /// The type of offer.
  public var offerType: OfferType?
  /// The offer's code or id.
  public var offerIdentifier: String?
  /// How the offer is paid.
  public var offerDiscountType: OfferDiscountType?
  /// The length of the offer, as ISO 8601 says it.
  public var offerPeriod: String?
  /// The environment of the purchase.
  public var environment: Environment?
  /// The country of the storefront, three letters.
  public var storefront: String?
  /// Apple's number of the storefront.
  public var storefrontId: String?
  /// Bought or renewed.
  public var transactionReason: TransactionReason?
  /// The price in thousandths of the currency.
  public var price: Int64?
  /// The currency, as ISO 4217 says it.
  public var currency: CurrencyCode?
  /// The id of the customer's download of the app.
  public var appTransactionId: AppTransactionId?
  /// How a commitment is billed.
  public var billingPlanType: BillingPlanType?
  /// How far a commitment is.
  public var commitmentInfo: TransactionCommitmentInfo?
  /// The data of the Advanced Commerce API, as Apple sent it.
  public var advancedCommerceInfo: JSONValue?
  /// The purchase that Apple migrated to this one.
  public var previousOriginalTransactionId: OriginalTransactionId?
  /// A hash over the device. Only data that a device sends has it.
  public var deviceVerification: String?
  /// The UUID in that hash.
  public var deviceVerificationNonce: String?

  /// Creates an empty value, for tests and fakes.
  public init() {}

  /// Reads a payload member by member and without `Codable`, because every synchronization reads one.
  ///
  /// - Throws: `DecodingError` when the text is not an object, or a field has the wrong type.
  public init(_ json: JSONText) throws {
    let object = try JSONObject(json)
    // The dates follow the rule in DateDecoding.swift, the texts that in TextDecoding.swift.
    transactionId = try object.id("transactionId")
    originalTransactionId = try object.id("originalTransactionId")
    webOrderLineItemId = try object.id("webOrderLineItemId")
    bundleId = try object.id("bundleId")
    productId = try object.id("productId")
    subscriptionGroupIdentifier = try object.text("subscriptionGroupIdentifier")
    purchaseDate = try object.truncated("purchaseDate")
    originalPurchaseDate = try object.truncated("originalPurchaseDate")
    expiresDate = try object.truncated("expiresDate")
    signedDate = try object.truncated("signedDate")
    revocationDate = try object.truncated("revocationDate")
    quantity = try object.int32("quantity")
    type = try object.text("type").map(ProductType.init)
    appAccountToken = try object.text("appAccountToken")
    inAppOwnershipType = try object.text("inAppOwnershipType").map(OwnershipType.init)
    revocationReason = try object.int32("revocationReason").map(RevocationReason.init)
    revocationType = try object.text("revocationType").map(RevocationType.init)
    revocationPercentage = try object.int64("revocationPercentage")
    isUpgraded = try object.bool("isUpgraded")
    offerType = try object.int32("offerType").map(OfferType.init)
    offerIdentifier = try object.text("offerIdentifier")
    offerDiscountType = try object.text("offerDiscountType").map(OfferDiscountType.init)
    offerPeriod = try object.text("offerPeriod")
    environment = try object.id("environment")
    storefront = try object.text("storefront")
    storefrontId = try object.text("storefrontId")
    transactionReason = try object.text("transactionReason").map(TransactionReason.init)
    price = try object.int64("price")
    currency = try object.id("currency")
    appTransactionId = try object.id("appTransactionId")
    billingPlanType = try object.text("billingPlanType").map(BillingPlanType.init)
    commitmentInfo = try object.value("commitmentInfo")
    advancedCommerceInfo = try object.value("advancedCommerceInfo")
    previousOriginalTransactionId = try object.id("previousOriginalTransactionId")
    deviceVerification = try object.text("deviceVerification")
    deviceVerificationNonce = try object.text("deviceVerificationNonce")
  }
}
