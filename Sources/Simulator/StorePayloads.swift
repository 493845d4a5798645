/// `JWSTransactionDecodedPayload`: one transaction, as Apple signs it. Times are UNIX milliseconds.
struct TransactionPayload: Encodable, Equatable, Sendable {
  var transactionId: String
  var originalTransactionId: String
  var webOrderLineItemId: String?
  var bundleId: String
  var productId: String
  var subscriptionGroupIdentifier: String?
  var purchaseDate: Int64
  var originalPurchaseDate: Int64
  var expiresDate: Int64?
  var quantity = 1
  var type: String
  var inAppOwnershipType = "PURCHASED"
  var signedDate: Int64
  var revocationReason: Int?
  var revocationDate: Int64?
  var revocationType: String?
  var revocationPercentage: Int?
  var isUpgraded: Bool?
  var environment: String
  var transactionReason = "PURCHASE"
  var storefront = "USA"
  var storefrontId = "143441"
  /// In thousandths of the currency.
  var price: Int64
  var currency = "USD"
  var appTransactionId: String
}

/// `JWSRenewalInfoDecodedPayload`: what comes after the current period. It names no bundle.
struct RenewalPayload: Encodable, Equatable, Sendable {
  var originalTransactionId: String
  var productId: String
  var autoRenewProductId: String
  var autoRenewStatus = 1
  var expirationIntent: Int?
  var isInBillingRetryPeriod = false
  var gracePeriodExpiresDate: Int64?
  var signedDate: Int64
  var environment: String
  var recentSubscriptionStartDate: Int64
  var renewalDate: Int64?
  var renewalPrice: Int64?
  var currency = "USD"
  var appTransactionId: String
}
