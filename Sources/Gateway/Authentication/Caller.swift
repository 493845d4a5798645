import Configuration
import Domain

/// The caller of a request, after the credential was checked.
struct Caller {
  let publisher: Publisher
  /// The customer that a bearer token acts for; `nil` for the publisher itself, which may act for any.
  let customerId: Int64?

  /// Whether the caller may see or do what belongs to a customer.
  func mayActFor(_ customer: Int64) -> Bool { customerId == nil || customerId == customer }
}
