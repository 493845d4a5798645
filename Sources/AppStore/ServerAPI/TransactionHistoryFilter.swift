public import Domain

/// Which transactions Get Transaction History returns; by default all of them, oldest change first.
public struct TransactionHistoryFilter: Hashable, Sendable {
  /// The order by date of the last change; only the ascending one can be continued later.
  public enum Sort: String, Sendable {
    /// Oldest change first.
    case ascending = "ASCENDING"
    /// Newest change first.
    case descending = "DESCENDING"
  }

  /// The start of the range, in milliseconds since 1970.
  public var startDate: Int64?
  /// The end of the range.
  public var endDate: Int64?
  /// Only these products.
  public var productIds: [ProductId] = []
  /// Only these types: `AUTO_RENEWABLE`, `NON_RENEWABLE`, `CONSUMABLE`, `NON_CONSUMABLE`.
  public var productTypes: [String] = []
  /// The order.
  public var sort: Sort?
  /// Only these subscription groups.
  public var subscriptionGroupIdentifiers: [String] = []
  /// Only bought, or only shared.
  public var inAppOwnershipType: OwnershipType?
  /// Only revoked, or only not revoked.
  public var revoked: Bool?

  /// Creates a filter that lets everything through.
  public init() {}

  var query: [(name: String, value: String?)] {
    [(name: "startDate", value: startDate.map(String.init)), (name: "endDate", value: endDate.map(String.init))]
      + productIds.map { (name: "productId", value: $0.text) }
      + productTypes.map { (name: "productType", value: $0) }
      + [(name: "sort", value: sort?.rawValue)]
      + subscriptionGroupIdentifiers.map { (name: "subscriptionGroupIdentifier", value: $0) }
      + [(name: "inAppOwnershipType", value: inAppOwnershipType?.rawValue)]
      + [(name: "revoked", value: revoked.map { $0 ? "true" : "false" })]
  }
}
