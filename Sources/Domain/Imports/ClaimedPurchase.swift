public import Formats

/// What another system claims about a purchase. Reports compare it with what Apple says.
public struct ClaimedPurchase: Sendable, Equatable {
  public var offerId: OfferId?
  /// When it was bought, in milliseconds since 1970.
  public var purchasedAt: Int64?
  /// Until when there is access, in milliseconds since 1970.
  public var expiresAt: Int64?
  /// The vendor's own id.
  @Exact public var vendorId: String?

  /// Creates a claim.
  public init(
    offerId: OfferId? = nil, purchasedAt: Int64? = nil, expiresAt: Int64? = nil, vendorId: String? = nil
  ) {
    (self.offerId, self.purchasedAt, self.expiresAt) = (offerId, purchasedAt, expiresAt)
    self.vendorId = vendorId
  }
}
