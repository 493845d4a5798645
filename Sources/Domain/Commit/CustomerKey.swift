import Formats

/// Names a customer of a publisher. Two keys are equal when their bytes are.
public struct CustomerKey: Hashable, Comparable, Sendable {
  public let publisherId: Int64
  private let exactId: ExactText

  /// Names a customer.
  public init(publisherId: Int64, id: String) {
    self.publisherId = publisherId
    exactId = id.exact
  }

  /// The customer's id, 1 to 256 bytes.
  public var id: String { exactId.text }

  /// The order in which a commit locks customers.
  public static func < (one: CustomerKey, other: CustomerKey) -> Bool {
    (one.publisherId, one.exactId) < (other.publisherId, other.exactId)
  }
}
