/// A consumable that a synchronization tells about: what to credit, and whether to credit it now.
public struct ConsumableGrant: Sendable, Equatable {
  public let productId: ProductId
  public let quantity: Int32
  /// Whether this synchronization is the first that grants the transaction, for ever. Only then the publisher credits
  /// it.
  public var isFirstGrant: Bool

  /// Creates a grant.
  public init(productId: ProductId, quantity: Int32, isFirstGrant: Bool) {
    self.productId = productId
    self.quantity = quantity
    self.isFirstGrant = isFirstGrant
  }
}
