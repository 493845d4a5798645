import Formats

/// That one customer's purchases from Apple's sandbox give access until a time, although ``SandboxAccess`` does not
/// list the customer.
///
/// A customer has one at most. A new one takes the place of the one before.
public struct SandboxOverride: Sendable, Equatable {
  public var customer: CustomerKey
  /// The access ends at this time. Times are milliseconds since 1970.
  public var endsAt: Int64
  /// Why somebody gave it. It may tell about the customer.
  public var reason: String
  /// Who gave it at the console; `nil` for a token's request.
  public var person: String?
  public var createdAt: Int64

  /// The longest time from the request to the end, in days.
  public static let longestDays: Int64 = 90
  /// The most characters of a reason.
  public static let longestReason = 500

  /// Creates an override.
  public init(customer: CustomerKey, endsAt: Int64, reason: String, person: String? = nil, createdAt: Int64) {
    (self.customer, self.endsAt, self.reason) = (customer, endsAt, reason)
    (self.person, self.createdAt) = (person, createdAt)
  }

  public static func == (one: SandboxOverride, other: SandboxOverride) -> Bool {
    one.isSameWish(as: other) && one.person?.exact == other.person?.exact && one.createdAt == other.createdAt
  }

  /// Whether somebody asks for the same again.
  public func isSameWish(as other: SandboxOverride) -> Bool {
    customer == other.customer && endsAt == other.endsAt && reason.exact == other.reason.exact
  }
}
