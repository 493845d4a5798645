/// The customer who owns a purchase.
public struct Owner: Sendable, Equatable {
  public var customerId: CustomerId
  /// The number of this period of ownership, for systems that know a purchase by a number.
  public var subscriptionId: Int64
  /// Until when the customer's ``SandboxOverride`` lasts, in milliseconds since 1970; `nil` without one. It is read
  /// with a purchase of the sandbox, and never written.
  public var sandboxUntil: Int64?

  /// Creates an owner.
  public init(customerId: CustomerId, subscriptionId: Int64, sandboxUntil: Int64? = nil) {
    self.customerId = customerId
    self.subscriptionId = subscriptionId
    self.sandboxUntil = sandboxUntil
  }

  /// Whether it is the same customer in the same period, whatever was read beside it.
  public static func == (one: Owner, other: Owner) -> Bool {
    one.customerId == other.customerId && one.subscriptionId == other.subscriptionId
  }

  /// Whether a customer is this owner.
  public func `is`(_ customerId: CustomerId) -> Bool { self.customerId == customerId }
}
