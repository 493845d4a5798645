public import Domain

/// A purchase whose timer is due, with what a look needs.
public struct DuePurchase: Sendable, Equatable {
  public let key: PurchaseKey
  /// The deciding transaction.
  public let transactionId: TransactionId
  public let bundleId: BundleId
  public let productId: ProductId
  public let kind: ProductKind
  /// When the deciding transaction was bought, in milliseconds since 1970.
  public let purchaseDate: Int64
  /// When it was due, in milliseconds since 1970.
  public let dueAt: Int64
}
