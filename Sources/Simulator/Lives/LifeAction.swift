/// The next thing that happens to a life.
enum LifeAction: Equatable, Sendable {
  /// Apple charges for the next period; an ended subscription begins anew. Periods have the new length from then on.
  case renew(period: Int64?)
  /// Apple cannot charge: now, or at the end of the period.
  case fail(grace: Bool?, isAtEnd: Bool)
  /// Apple can charge again.
  case recover
  /// The grace period ends at once.
  case endGrace
  /// The subscription ends: now, or at the end of the period.
  case expire(LifeExpiry, isAtEnd: Bool)
  /// Another product, at once.
  case upgrade(LifeUpgrade)
  /// Another product from the next period on; the present product takes an earlier change back.
  case downgrade(product: String, period: Int64?)
  /// Apple pays back; without an id, the present transaction.
  case refund(transactionId: String?, percentage: Int64, reason: Int)
  /// Apple takes a refund back.
  case reverse(transactionId: String?)
  /// Apple does not pay back.
  case declineRefund(transactionId: String?)
  /// The family no longer shares.
  case revoke
  /// The period ends later.
  case extend(days: Int64)
  /// The customer wants the money back.
  case requestRefund(transactionId: String?, reason: String)
  /// The customer turns the renewal on or off.
  case setRenewal(Bool)
  /// A higher price from the next period on; the customer has agreed, or has not answered.
  case increasePrice(Int64?, isAccepted: Bool)
  /// An offer for the next period.
  case redeem(LifeOffer)
}

/// Why a subscription ends.
enum LifeExpiry: String, CaseIterable, Sendable {
  case voluntary
  case billingRetry
  case priceIncrease
  case productNotForSale
  case other

  /// Apple's `expirationIntent`.
  var intent: Int {
    switch self {
    case .voluntary: 1
    case .billingRetry: 2
    case .priceIncrease: 3
    case .productNotForSale: 4
    case .other: 5
    }
  }

  /// The subtype of `EXPIRED`.
  var subtype: String? {
    switch self {
    case .voluntary: "VOLUNTARY"
    case .billingRetry: "BILLING_RETRY"
    case .priceIncrease: "PRICE_INCREASE"
    case .productNotForSale: "PRODUCT_NOT_FOR_SALE"
    case .other: nil
    }
  }
}

/// An upgrade to another product.
struct LifeUpgrade: Equatable, Sendable {
  var product: String
  var price: Int64?
  var period: Int64?
  /// Whether the new product becomes a purchase with an original transaction id of its own.
  var isSeparate = false
  /// That id; the simulator chooses one if there is none.
  var originalTransactionId: String?
}
