/// The names of all keys that Countersign has in Redis.
///
/// Every key names its publisher. So a registration of one tenant neither blocks another tenant nor appears there.
public struct Keys: Sendable {
  let prefix: String

  /// Creates the names with the configured prefix.
  public init(prefix: String) { self.prefix = prefix }

  /// String: the ``Claim`` on a transactionId.
  public func claim(_ publisher: Int64, _ transaction: String) -> String {
    "\(prefix)claim:\(publisher):\(transaction)"
  }
  /// String: the last lease of a transaction, and the facts known about the transaction (`TransactionRecord`). It has
  /// an expiry while no worker has the lease.
  public func transaction(_ publisher: Int64, _ transaction: String) -> String {
    "\(prefix)transaction:\(publisher):\(transaction)"
  }
  /// Hash: the synchronization. It expires some time after its finalization.
  public func synchronization(_ publisher: Int64, _ id: String) -> String { prefix + "sync:" + member(publisher, id) }
  /// Sorted set: the members of open synchronizations, by the time at which the sweep looks at them.
  public var open: String { "\(prefix)open" }
  /// The name of a synchronization in ``open``.
  public func member(_ publisher: Int64, _ id: String) -> String { "\(publisher):\(id)" }
  /// The part before a member in the key of its synchronization.
  public var synchronizationPrefix: String { prefix + "sync:" }
  /// Hash: a customer.
  public func customer(_ publisher: Int64, _ id: Int64) -> String { "\(prefix)customer:\(publisher):\(id)" }
  /// Hash: a webhook endpoint of the API.
  public func webhook(_ publisher: Int64, _ id: String) -> String { webhookPrefix(publisher) + id }
  /// The part before an endpoint's id in its key.
  public func webhookPrefix(_ publisher: Int64) -> String { "\(prefix)webhook:\(publisher):" }
  /// Sorted set: the ids of a publisher's endpoints, by the time of their creation.
  public func webhooks(_ publisher: Int64) -> String { "\(prefix)webhooks:\(publisher)" }
  /// String: when a publisher's endpoints last changed, in microseconds.
  public func webhooksVersion(_ publisher: Int64) -> String { "\(prefix)webhooks-version:\(publisher)" }
  /// Hash: the health of an endpoint after its last attempts, and whether it is disabled.
  public func webhookHealth(_ publisher: Int64, _ id: String) -> String { webhookHealthPrefix(publisher) + id }
  /// The part before an endpoint's id in the key of its health.
  public func webhookHealthPrefix(_ publisher: Int64) -> String { "\(prefix)webhook-health:\(publisher):" }
  /// String: the customer who owns a purchase. Ids of the sandbox are a number space of their own, so the key names
  /// the environment.
  public func owner(_ publisher: Int64, _ environment: String, _ original: String) -> String {
    "\(prefix)owner:\(publisher):\(environment):\(original)"
  }
  /// Hash: for each app, environment and endpoint the bucket of its budget, and until when Apple has forbidden calls.
  public var budgets: String { "\(prefix)budgets" }
}
