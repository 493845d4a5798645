import Domain
import Ledger
public import Observability
import Postgres

extension Log {
  /// Logs a failure of the ledger.
  ///
  /// While the ledger is away, its connections say so once. Then the failure of each request is for debugging only: a
  /// busy role has thousands of them a second.
  ///
  /// If a customer's row cannot be read, the line names the customer as `log.customers` says.
  ///
  /// - Parameter event: what failed.
  public func ledgerFailure(_ event: String, _ error: any Error) {
    if let error = error as? PostgresError, error.isOfConnection {
      debug(event, ["cause": .failure(error)])
    } else if let customer = (error as? UnreadableRecord)?.customer {
      warning(
        event, ["cause": .failure(error), "customer": .customer(customer.id.text, of: customer.publisherId.number)])
    } else {
      warning(event, ["cause": .failure(error)])
    }
  }
}

extension PostgresError {
  /// Whether the server itself said nothing.
  fileprivate var isOfConnection: Bool {
    if case .server = code { false } else { true }
  }
}
