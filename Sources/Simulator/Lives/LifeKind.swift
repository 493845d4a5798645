/// The four types of product.
enum LifeKind: String, CaseIterable, Sendable {
  case autoRenewable
  case nonRenewing
  case consumable
  case nonConsumable

  /// The `type` in a signed transaction.
  var name: String {
    switch self {
    case .autoRenewable: "Auto-Renewable Subscription"
    case .nonRenewing: "Non-Renewing Subscription"
    case .consumable: "Consumable"
    case .nonConsumable: "Non-Consumable"
    }
  }

  /// The `productType` in a query of Get Transaction History.
  var filterName: String {
    switch self {
    case .autoRenewable: "AUTO_RENEWABLE"
    case .nonRenewing: "NON_RENEWABLE"
    case .consumable: "CONSUMABLE"
    case .nonConsumable: "NON_CONSUMABLE"
    }
  }

  /// The last part of the product id, if a life names no product.
  var usualProduct: String {
    switch self {
    case .autoRenewable: "monthly"
    case .nonRenewing: "pass"
    case .consumable: "coins"
    case .nonConsumable: "lifetime"
    }
  }
}
