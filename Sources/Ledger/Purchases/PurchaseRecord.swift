public import Domain

/// A purchase with everything that an answer about it tells.
public struct PurchaseRecord: Sendable, Equatable {
  /// The purchase with all its transactions.
  public var purchase: Purchase
  /// When each transaction was first granted, in milliseconds since 1970.
  public var firstGrants: [TransactionId: Int64]
  /// The periods of ownership, in their order. The last one may still run.
  public var ownerships: [OwnershipPeriod]

  /// Creates a record.
  public init(_ purchase: Purchase, firstGrants: [TransactionId: Int64] = [:], ownerships: [OwnershipPeriod] = []) {
    self.purchase = purchase
    self.firstGrants = firstGrants
    self.ownerships = ownerships
  }
}

/// A period in which a customer owned a purchase. Times are milliseconds since 1970.
public struct OwnershipPeriod: Sendable, Equatable {
  /// The number of the period, for systems that know a purchase by a number.
  public let subscriptionId: Int64
  /// `nil` after the erasure of the customer.
  public let customerId: CustomerId?
  public let beganAt: Int64
  /// `nil` while the period runs.
  public let endedAt: Int64?
  /// Why it began: see `OwnershipCause`. An open set.
  public let cause: String

  /// Creates a period.
  public init(subscriptionId: Int64, customerId: CustomerId?, beganAt: Int64, endedAt: Int64?, cause: String) {
    self.subscriptionId = subscriptionId
    self.customerId = customerId
    self.beganAt = beganAt
    self.endedAt = endedAt
    self.cause = cause
  }
}
