import Configuration
package import Domain
import Formats

/// The caller of a request, after the credential was checked.
package struct Caller {
  package let publisher: Publisher
  /// The customer that a bearer token acts for; `nil` for the publisher itself, which may act for any.
  package let customerId: CustomerId?
  /// The publisher's token; `nil` for a customer.
  package var token: PublisherToken?

  /// Whether the caller may see or do what belongs to a customer.
  func mayActFor(_ customer: CustomerId) -> Bool { customerId.map { $0 == customer } ?? true }

  /// Refuses a publisher's token without a scope. A customer's token has none: the route says whether it admits
  /// customers.
  ///
  /// - Throws: ``Problem``: 403 AUTH0004.
  package func require(_ scope: TokenScope) throws(Problem) {
    guard customerId == nil else { return }
    guard let token, token.scopes.contains(scope) else { throw .missingScope(scope, of: token?.name ?? "") }
  }
}
