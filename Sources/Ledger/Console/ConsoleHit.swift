public import Domain

/// Something that has the id that a person of the console looks for.
public struct ConsoleHit: Sendable, Equatable {
  /// What it is.
  public enum Kind: String, Sendable, CaseIterable {
    case customer, email, transaction, purchase, synchronization, notification, event
    /// The id is a `webhook-id`: of a notification that was passed on, or of an event that the ledger may not keep any
    /// more.
    case delivery
  }

  public let kind: Kind
  public let publisherId: PublisherId
  /// The customer that it is about; `nil` if there is none, or if the customer was erased.
  public let customer: CustomerId?
  /// The purchase that it is about.
  public let purchase: PurchaseKey?
  /// What it says besides, such as the result of a synchronization.
  public let detail: String?

  /// Creates a hit.
  public init(
    kind: Kind, publisherId: PublisherId, customer: CustomerId? = nil, purchase: PurchaseKey? = nil,
    detail: String? = nil
  ) {
    (self.kind, self.publisherId, self.customer, self.purchase) = (kind, publisherId, customer, purchase)
    self.detail = detail
  }
}
