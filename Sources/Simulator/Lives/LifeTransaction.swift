/// One transaction of a life, without what all of them share.
struct LifeTransaction: Equatable, Sendable {
  /// How Apple took a transaction back.
  struct Revocation: Equatable, Sendable {
    /// UNIX milliseconds.
    var date: Int64
    /// 0 other, 1 a problem with the app.
    var reason: Int
    var type: Kind
    /// In thousandths of a percent.
    var percentage: Int64

    enum Kind: String, Sendable {
      case full = "REFUND_FULL"
      case prorated = "REFUND_PRORATED"
      case family = "FAMILY_REVOKE"
    }
  }

  var id: String
  var productId: String
  /// UNIX milliseconds, as are all dates.
  var purchaseDate: Int64
  var expiresDate: Int64?
  /// In thousandths of the currency.
  var price: Int64
  var isRenewal = false
  var isUpgraded = false
  var offer: LifeOffer?
  var revocation: Revocation?
  /// The number of its last change, among the changes of all lives.
  var revision: Int64
}
