/// An offer of Apple's, such as a free trial, with Apple's names for its parts.
struct LifeOffer: Equatable, Sendable {
  /// 1 introductory, 2 promotional, 3 offer code, 4 win-back.
  var type: Int
  var identifier: String?
  /// `FREE_TRIAL`, `PAY_AS_YOU_GO`, `PAY_UP_FRONT` or `ONE_TIME`.
  var discountType: String
  /// Its length in ISO 8601, such as `P1W`.
  var period: String

  /// A free week at the beginning.
  static let trial = LifeOffer(type: 1, discountType: "FREE_TRIAL", period: "P1W")

  var isFree: Bool { discountType == "FREE_TRIAL" }
}
