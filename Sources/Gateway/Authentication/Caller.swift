import Configuration
import Domain
import Formats

/// The caller of a request, after the credential was checked.
struct Caller {
  let publisher: Publisher
  /// The customer that a bearer token acts for; `nil` for the publisher itself, which may act for any.
  let customerId: String?

  /// Whether the caller may see or do what belongs to a customer.
  func mayActFor(_ customer: String) -> Bool { customerId.map { $0.exact == customer.exact } ?? true }
}
