/// The customer who owns a purchase.
public struct Owner: Sendable, Equatable {
  public var customerId: CustomerId
  /// The number of this period of ownership, for systems that know a purchase by a number.
  public var subscriptionId: Int64

  /// Creates an owner.
  public init(customerId: CustomerId, subscriptionId: Int64) {
    self.customerId = customerId
    self.subscriptionId = subscriptionId
  }

  /// Whether a customer is this owner.
  public func `is`(_ customerId: CustomerId) -> Bool { self.customerId == customerId }
}
