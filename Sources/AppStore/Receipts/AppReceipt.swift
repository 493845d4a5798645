public import Domain

/// The receipt of an app, as the StoreKit 1 API gives it to the app, with the fields of Apple's "Receipt Fields".
///
/// Dates are in milliseconds since 1970. The type leaves out the fields that Apple does not document. It keeps three of
/// them, because their meaning is plain: the type of the receipt, the first download, and the kinds of offer.
public struct AppReceipt: Hashable, Sendable, Codable {
  /// `Production`, `ProductionSandbox`, `ProductionVPP`, `ProductionVPPSandbox` or `Xcode`; `nil` in old receipts.
  public var receiptType: String?
  /// The app.
  public var bundleId: BundleId
  /// The app's `CFBundleVersion` (iOS) or `CFBundleShortVersionString` (macOS).
  public var applicationVersion: String?
  /// The same for the version that the customer downloaded first; `1.0` in the sandbox.
  public var originalApplicationVersion: String?
  /// When the receipt was made.
  public var receiptCreationDate: Int64
  /// When the app was downloaded first.
  public var originalPurchaseDate: Int64?
  /// When the receipt expires. Only apps bought by a volume purchase program have this date.
  public var expirationDate: Int64?
  /// The purchases, in the order of the receipt.
  public var inApp: [InAppReceipt] = []

  /// The environment that the type tells.
  public var environment: Environment? {
    switch receiptType {
    case "Production", "ProductionVPP": .production
    case "ProductionSandbox", "ProductionVPPSandbox": .sandbox
    case "Xcode": .xcode
    default: receiptType.map(Environment.init(_:))
    }
  }
}

/// One purchase in the receipt of an app.
public struct InAppReceipt: Hashable, Sendable, Codable {
  /// How many were bought.
  public var quantity: Int64?
  /// The product.
  public var productId: ProductId?
  /// The id of this transaction.
  public var transactionId: TransactionId?
  /// The id of the purchase.
  public var originalTransactionId: OriginalTransactionId?
  /// When the App Store charged.
  public var purchaseDate: Int64?
  /// When the purchase began.
  public var originalPurchaseDate: Int64?
  /// When the period of a subscription ends.
  public var expiresDate: Int64?
  /// When Apple took the transaction back.
  public var cancellationDate: Int64?
  /// The id of a subscription period.
  public var webOrderLineItemId: Int64?
  /// Whether the subscription is in its introductory price period.
  public var isInIntroOfferPeriod: Bool?
  /// Whether the subscription is in its free trial.
  public var isTrialPeriod: Bool?
  /// The id of a promotional offer.
  public var promotionalOfferId: String?
}
