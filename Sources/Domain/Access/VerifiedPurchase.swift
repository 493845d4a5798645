/// A purchase as Apple's signed data states it. Every member comes from that data, except ``isReportedRevoked``.
public struct VerifiedPurchase: Sendable, Equatable {
  /// Apple's product types, as far as they decide about access.
  public enum Kind: Sendable, Equatable { case autoRenewable, nonRenewing, nonConsumable, consumable }

  public var kind: Kind
  public var originalTransactionId: String
  public var productId: String
  /// `Production` or `Sandbox`.
  public var environment: String
  /// Milliseconds since 1970, like all dates here.
  public var purchaseDate: Int64
  public var expiresDate: Int64?
  /// The end of the billing grace period, from the renewal info.
  public var gracePeriodExpiresDate: Int64?
  public var revocationDate: Int64?
  /// Whether Apple's status of the subscription says revoked. The status is not signed, so it can only take access
  /// away.
  public var isReportedRevoked: Bool

  /// Creates a verified purchase.
  public init(
    kind: Kind, originalTransactionId: String, productId: String, environment: String, purchaseDate: Int64,
    expiresDate: Int64? = nil, gracePeriodExpiresDate: Int64? = nil, revocationDate: Int64? = nil,
    isReportedRevoked: Bool = false
  ) {
    self.kind = kind
    self.originalTransactionId = originalTransactionId
    self.productId = productId
    self.environment = environment
    self.purchaseDate = purchaseDate
    self.expiresDate = expiresDate
    self.gracePeriodExpiresDate = gracePeriodExpiresDate
    self.revocationDate = revocationDate
    self.isReportedRevoked = isReportedRevoked
  }
}
