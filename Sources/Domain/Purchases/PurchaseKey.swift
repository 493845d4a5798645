/// The name of a purchase: the unit of order and of ownership.
///
/// Two keys are equal if their texts have the same bytes. A commit locks its purchases in the order of their keys.
public struct PurchaseKey: Sendable {
  public var publisherId: PublisherId
  /// `Production` or `Sandbox`.
  public var environment: Environment
  public var originalTransactionId: OriginalTransactionId

  /// Creates a key.
  public init(publisherId: PublisherId, environment: Environment, originalTransactionId: OriginalTransactionId) {
    self.publisherId = publisherId
    self.environment = environment
    self.originalTransactionId = originalTransactionId
  }

  /// A customer of the purchase's publisher.
  public func customer(_ id: CustomerId) -> CustomerKey { CustomerKey(publisherId: publisherId, id: id) }
}

extension PurchaseKey: Hashable {
  public static func == (one: PurchaseKey, other: PurchaseKey) -> Bool {
    one.publisherId == other.publisherId && one.originalTransactionId == other.originalTransactionId
      && one.environment == other.environment
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(publisherId)
    hasher.combine(environment)
    hasher.combine(originalTransactionId)
  }
}

extension PurchaseKey: Comparable {
  /// The order of `ORDER BY publisher_id, environment, original_transaction_id` with `COLLATE "C"`.
  public static func < (one: PurchaseKey, other: PurchaseKey) -> Bool {
    if one.publisherId != other.publisherId { return one.publisherId < other.publisherId }
    if one.environment != other.environment { return one.environment < other.environment }
    return one.originalTransactionId < other.originalTransactionId
  }
}
