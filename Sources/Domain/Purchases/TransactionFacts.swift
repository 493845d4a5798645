public import Formats

/// The facts of one transaction, as Apple signed them at a time. Dates are milliseconds since 1970.
public struct TransactionFacts: Sendable, Equatable, SignedFacts {
  public var transactionId: TransactionId
  public var originalTransactionId: OriginalTransactionId
  public var bundleId: BundleId
  public var productId: ProductId
  public var kind: ProductKind
  /// `Production` or `Sandbox`.
  public var environment: Environment
  public var purchaseDate: Int64
  /// When the purchase began.
  public var originalPurchaseDate: Int64?
  public var expiresDate: Int64?
  /// When Apple refunded the transaction, or took it back from a family member.
  public var revocationDate: Int64?
  public var revocationReason: Int32?
  /// How Apple took the transaction back, such as `REFUND_FULL` or `REFUND_PRORATED`; an open set.
  @Exact public var revocationType: String?
  /// The refunded part of the price, in thousandths of a percent.
  public var revocationPercentage: Int32?
  /// Whether the customer upgraded to another product, so that another transaction took the place of this one.
  public var isUpgraded: Bool
  /// `PURCHASED` or `FAMILY_SHARED`; an open set.
  @Exact public var ownershipType: String?
  public var quantity: Int32?
  /// In thousandths of the currency.
  public var price: Int64?
  public var currency: CurrencyCode?
  /// Apple's number for the type of offer: 1 introductory, 2 promotional, 3 offer code, 4 win-back.
  public var offerType: Int32?
  /// The offer's id or code.
  @Exact public var offerIdentifier: String?
  /// How the offer is paid, such as `FREE_TRIAL`; an open set.
  @Exact public var offerDiscountType: String?
  /// The country of the storefront: ISO 3166-1, three letters.
  @Exact public var storefront: String?
  /// The UUID that the app gave for its customer, in lower case.
  public var appAccountToken: AppAccountToken?
  /// The purchase that this one took the place of, if an upgrade began it under a new original transaction.
  public var previousOriginalTransactionId: OriginalTransactionId?
  /// Apple's id of the download with which the customer bought, the same for one customer and app.
  public var appTransactionId: AppTransactionId?
  /// Apple's id of the payment for a period of a subscription; the same for all transactions that name the period.
  public var webOrderLineItemId: WebOrderLineItemId?
  public var signedDate: Int64
  /// SHA-256 of the decoded payload.
  public var payloadSHA256: [UInt8]

  /// Creates the facts.
  public init(
    transactionId: TransactionId, originalTransactionId: OriginalTransactionId, bundleId: BundleId,
    productId: ProductId, kind: ProductKind,
    environment: Environment, purchaseDate: Int64, originalPurchaseDate: Int64? = nil, expiresDate: Int64? = nil,
    revocationDate: Int64? = nil, revocationReason: Int32? = nil, revocationType: String? = nil,
    revocationPercentage: Int32? = nil, isUpgraded: Bool = false, ownershipType: String? = nil, quantity: Int32? = nil,
    price: Int64? = nil, currency: CurrencyCode? = nil, offerType: Int32? = nil, offerIdentifier: String? = nil,
    offerDiscountType: String? = nil, storefront: String? = nil, appAccountToken: AppAccountToken? = nil,
    previousOriginalTransactionId: OriginalTransactionId? = nil, appTransactionId: AppTransactionId? = nil,
    webOrderLineItemId: WebOrderLineItemId? = nil,
    signedDate: Int64,
    payloadSHA256: [UInt8]
  ) {
    self.transactionId = transactionId
    self.originalTransactionId = originalTransactionId
    self.bundleId = bundleId
    self.productId = productId
    self.kind = kind
    self.environment = environment
    self.purchaseDate = purchaseDate
    self.originalPurchaseDate = originalPurchaseDate
    self.expiresDate = expiresDate
    self.revocationDate = revocationDate
    self.revocationReason = revocationReason
    self.revocationType = revocationType
    self.revocationPercentage = revocationPercentage
    self.isUpgraded = isUpgraded
    self.ownershipType = ownershipType
    self.quantity = quantity
    self.price = price
    self.currency = currency
    self.offerType = offerType
    self.offerIdentifier = offerIdentifier
    self.offerDiscountType = offerDiscountType
    self.storefront = storefront
    self.appAccountToken = appAccountToken
    self.previousOriginalTransactionId = previousOriginalTransactionId
    self.appTransactionId = appTransactionId
    self.webOrderLineItemId = webOrderLineItemId
    self.signedDate = signedDate
    self.payloadSHA256 = payloadSHA256
  }
}
