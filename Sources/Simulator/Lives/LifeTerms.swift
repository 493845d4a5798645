import Formats

/// What is agreed when a life begins.
struct LifeTerms: Equatable, Sendable {
  var kind = LifeKind.autoRenewable
  var environment = StoreEnvironment.production
  var bundleId: ExactText
  var appAppleId: Int64
  /// The whole product id.
  var productId: String
  var price: Int64
  var appAccountToken: String?
  /// Whether the transactions are those of a family member who did not pay.
  var isFamilyShared = false
  /// The life of the family member who pays.
  var owner: String?
  /// The offer of the first period.
  var offer: LifeOffer?
  /// The length of a period, in real milliseconds.
  var period: Int64
  /// The length of the grace period, in real milliseconds; 0 for none.
  var grace: Int64 = 0
  /// Whether the customer leaves the renewal on.
  var autoRenews = true
  /// Whether the first renewal fails.
  var failsAtEnd = false
  /// How long ago the life began, in milliseconds.
  var age: Int64 = 0
  /// Where its notifications go, instead of to the usual URLs.
  var urls: [String]?
  /// Whether the beginning is told.
  var isQuiet = false

  /// Returns the whole id of a product: `monthly` becomes `com.example.app.monthly`.
  func product(_ name: String) -> String { name.contains(".") ? name : "\(bundleId).\(name)" }

  /// The usual price of a product, as the scenarios have it.
  static func usualPrice(of productId: String) -> Int64 {
    switch productId.split(separator: ".").last {
    case "yearly": 99_990
    case "lifetime": 49_990
    case "coins": 1_990
    case "pass": 19_990
    default: 9_990
    }
  }

  /// The usual length of a product's period, in months.
  static func usualMonths(of productId: String) -> Int64 { productId.hasSuffix("yearly") ? 12 : 1 }
}
