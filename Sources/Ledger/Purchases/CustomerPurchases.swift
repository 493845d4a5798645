public import Domain

/// The purchases of a customer, and what the ledger knows about the customer besides.
public struct CustomerPurchases: Sendable, Equatable {
  /// Whether the ledger has the customer: it was put, or a registration brought it.
  public var isKnown: Bool
  /// The customerVersion. The purchases are those of this version, or of a later one.
  public var version: Int64
  /// Each purchase has its deciding transaction only, which is enough to decide about access.
  public var purchases: [Purchase]
  /// The customer's grants whose end was not told yet. Some may be over by the time.
  public var grants: [Grant]

  /// Creates a value.
  public init(isKnown: Bool, version: Int64 = 0, purchases: [Purchase] = [], grants: [Grant] = []) {
    self.isKnown = isKnown
    self.version = version
    self.purchases = purchases
    self.grants = grants
  }
}
