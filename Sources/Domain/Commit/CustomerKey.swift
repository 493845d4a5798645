/// Names a customer of a publisher.
public struct CustomerKey: Hashable, Comparable, Sendable {
  public let publisherId: PublisherId
  public let id: CustomerId

  /// Names a customer.
  public init(publisherId: PublisherId, id: CustomerId) {
    self.publisherId = publisherId
    self.id = id
  }

  /// The order in which a commit locks customers.
  public static func < (one: CustomerKey, other: CustomerKey) -> Bool {
    (one.publisherId, one.id) < (other.publisherId, other.id)
  }
}
