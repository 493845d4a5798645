import Formats

/// The customer who owns a purchase.
public struct Owner: Sendable, Equatable {
  public var customerId: String
  /// The number of this period of ownership, for systems that know a purchase by a number.
  public var subscriptionId: Int64

  /// Creates an owner.
  public init(customerId: String, subscriptionId: Int64) {
    self.customerId = customerId
    self.subscriptionId = subscriptionId
  }

  /// Whether a customer is this owner.
  public func `is`(_ customerId: String) -> Bool { self.customerId.exact == customerId.exact }

  public static func == (one: Owner, other: Owner) -> Bool {
    one.is(other.customerId) && one.subscriptionId == other.subscriptionId
  }
}
