/// The facts of one transaction, as Apple signed them at a time. Dates are milliseconds since 1970.
public struct TransactionFacts: Sendable, Equatable, SignedFacts {
  public var transactionId: String
  public var originalTransactionId: String
  public var bundleId: String
  public var productId: String
  public var kind: ProductKind
  /// `Production` or `Sandbox`.
  public var environment: String
  public var purchaseDate: Int64
  public var expiresDate: Int64?
  /// When Apple refunded the transaction, or took it back from a family member.
  public var revocationDate: Int64?
  public var revocationReason: Int32?
  /// Whether the customer upgraded to another product, so that another transaction took the place of this one.
  public var isUpgraded: Bool
  /// `PURCHASED` or `FAMILY_SHARED`; an open set.
  public var ownershipType: String?
  public var quantity: Int32?
  /// In thousandths of the currency.
  public var price: Int64?
  public var currency: String?
  /// The UUID that the app gave for its customer, in lower case.
  public var appAccountToken: String?
  public var signedDate: Int64
  /// SHA-256 of the decoded payload.
  public var payloadSHA256: [UInt8]

  /// Creates the facts.
  public init(
    transactionId: String, originalTransactionId: String, bundleId: String, productId: String, kind: ProductKind,
    environment: String, purchaseDate: Int64, expiresDate: Int64? = nil, revocationDate: Int64? = nil,
    revocationReason: Int32? = nil, isUpgraded: Bool = false, ownershipType: String? = nil, quantity: Int32? = nil,
    price: Int64? = nil, currency: String? = nil, appAccountToken: String? = nil, signedDate: Int64,
    payloadSHA256: [UInt8]
  ) {
    self.transactionId = transactionId
    self.originalTransactionId = originalTransactionId
    self.bundleId = bundleId
    self.productId = productId
    self.kind = kind
    self.environment = environment
    self.purchaseDate = purchaseDate
    self.expiresDate = expiresDate
    self.revocationDate = revocationDate
    self.revocationReason = revocationReason
    self.isUpgraded = isUpgraded
    self.ownershipType = ownershipType
    self.quantity = quantity
    self.price = price
    self.currency = currency
    self.appAccountToken = appAccountToken
    self.signedDate = signedDate
    self.payloadSHA256 = payloadSHA256
  }
}
