import Configuration
package import Domain
import Formats

/// The caller of a request, after the credential was checked.
package struct Caller {
  package let publisher: Publisher
  /// The customer that a bearer token acts for; `nil` for the publisher itself, which may act for any.
  package let customerId: String?
  /// The publisher's token; `nil` for a customer.
  package var token: PublisherToken?

  /// Whether the caller may see or do what belongs to a customer.
  func mayActFor(_ customer: String) -> Bool { customerId.map { $0.exact == customer.exact } ?? true }

  /// Refuses a publisher's token without a scope. A customer's token has none: the route says whether it admits
  /// customers.
  ///
  /// - Throws: ``Problem``: 403 AUTH0004.
  package func require(_ scope: TokenScope) throws(Problem) {
    guard customerId == nil else { return }
    guard let token, token.scopes.contains(scope) else { throw .missingScope(scope, of: token?.name ?? "") }
  }
}
