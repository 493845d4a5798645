import Formats
import JSON

/// `JWSTransactionDecodedPayload`: one transaction, as Apple signs it. Times are UNIX milliseconds.
struct TransactionPayload: Equatable, Sendable {
  var transactionId: String
  var originalTransactionId: String
  var webOrderLineItemId: String?
  var bundleId: ExactText
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
  var appAccountToken: String?
  var offerType: Int?
  var offerIdentifier: String?
  var offerDiscountType: String?
  var offerPeriod: String?
  var previousOriginalTransactionId: String?

  /// The signed payload. It is written member by member, because a slow simulator would measure itself instead of its
  /// clients.
  var json: [UInt8] {
    JSONWriter.object { json in
      json.member("appAccountToken", appAccountToken)
      json.member("appTransactionId", appTransactionId)
      json.member("bundleId", bundleId.text)
      json.member("currency", currency)
      json.member("environment", environment)
      json.member("expiresDate", expiresDate)
      json.member("inAppOwnershipType", inAppOwnershipType)
      json.member("isUpgraded", isUpgraded)
      json.member("offerDiscountType", offerDiscountType)
      json.member("offerIdentifier", offerIdentifier)
      json.member("offerPeriod", offerPeriod)
      json.member("offerType", offerType.map(Int64.init))
      json.member("originalPurchaseDate", originalPurchaseDate)
      json.member("originalTransactionId", originalTransactionId)
      json.member("previousOriginalTransactionId", previousOriginalTransactionId)
      json.member("price", price)
      json.member("productId", productId)
      json.member("purchaseDate", purchaseDate)
      json.member("quantity", Int64(quantity))
      json.member("revocationDate", revocationDate)
      json.member("revocationPercentage", revocationPercentage.map(Int64.init))
      json.member("revocationReason", revocationReason.map(Int64.init))
      json.member("revocationType", revocationType)
      json.member("signedDate", signedDate)
      json.member("storefront", storefront)
      json.member("storefrontId", storefrontId)
      json.member("subscriptionGroupIdentifier", subscriptionGroupIdentifier)
      json.member("transactionId", transactionId)
      json.member("transactionReason", transactionReason)
      json.member("type", type)
      json.member("webOrderLineItemId", webOrderLineItemId)
    }
  }
}

/// `JWSRenewalInfoDecodedPayload`: what happens after the current period. It names no bundle.
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
  var priceIncreaseStatus: Int?
  var offerType: Int?
  var offerIdentifier: String?
  var offerDiscountType: String?
  var offerPeriod: String?
  var appAccountToken: String?
}
