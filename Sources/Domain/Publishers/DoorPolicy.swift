public import Formats

/// What a publisher decides for every door.
public struct DoorPolicy: Sendable, Equatable {
  /// Stands before the vendor's name of a user, and both together are the customer's id.
  ///
  /// The customer of a verified token is the publisher's own, so nothing stands before that id.
  @Exact public var customerPrefix: String
  /// Whether a request may only name a customer whom the publisher has registered; `nil` if the publisher's own
  /// `customers` decides.
  public var customers: Publisher.CustomerPolicy?
  /// Who may take a purchase through this door.
  public var ownership: OwnershipPolicy
  /// How many receipts a second one credential may send to one gateway; `nil` if it may send any number.
  public var maxRequestsPerSecond: Int?

  /// Creates a policy.
  public init(
    customerPrefix: String = "", customers: Publisher.CustomerPolicy? = nil,
    ownership: OwnershipPolicy = OwnershipPolicy(), maxRequestsPerSecond: Int? = nil
  ) {
    self.customerPrefix = customerPrefix
    self.customers = customers
    self.ownership = ownership
    self.maxRequestsPerSecond = maxRequestsPerSecond
  }

  /// The customer's id of a vendor's user.
  public func customerId(of user: String) -> CustomerId { CustomerId(customerPrefix + user) }

  /// The vendor's name of a customer; `nil` for a customer who came another way.
  public func user(of customerId: CustomerId) -> String? {
    let prefix = customerPrefix.utf8
    guard customerId.text.utf8.starts(with: prefix), customerId.text.utf8.count > prefix.count else { return nil }
    return String(customerId.text.utf8.dropFirst(prefix.count))
  }
}
