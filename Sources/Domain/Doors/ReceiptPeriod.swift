/// A period of a subscription in a receipt. Only a purchase with a period may give access before Apple has answered.
///
/// A receipt does not tell the types of products, and only a subscription has an end. So a purchase without an end may
/// be a consumable. Old receipts do not name the purchase or its environment, and then nobody knows yet which purchase
/// of the ledger it is.
public struct ReceiptPeriod: Sendable, Equatable {
  /// When it begins, in milliseconds since 1970.
  public let start: Int64
  /// When it ends, in milliseconds since 1970.
  public let end: Int64

  /// Takes the period of a purchase; `nil` if the purchase may not give access.
  ///
  /// - Parameter isNamedBySigner: whether Apple signed the names of the purchase and of its environment.
  public init?(purchaseDate: Int64?, expiresDate: Int64?, isNamedBySigner: Bool) {
    guard isNamedBySigner, let purchaseDate, let expiresDate else { return nil }
    (start, end) = (purchaseDate, expiresDate)
  }
}
