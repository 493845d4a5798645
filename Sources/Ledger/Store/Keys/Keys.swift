/// The names of everything that Countersign keeps in Redis.
///
/// Every key names its publisher: what one tenant registers can neither block nor show up at another.
public struct Keys: Sendable {
  let prefix: String

  /// Creates the names with the configured prefix.
  public init(prefix: String) { self.prefix = prefix }

  /// String: the ``Claim`` on a transactionId.
  public func claim(_ publisher: Int64, _ transaction: String) -> String {
    "\(prefix)claim:\(publisher):\(transaction)"
  }
  /// String, with expiry while nobody has the lease: the last lease of a transaction, and what is known of the transaction
  /// (`TransactionRecord`).
  public func transaction(_ publisher: Int64, _ transaction: String) -> String {
    "\(prefix)transaction:\(publisher):\(transaction)"
  }
  /// Hash: the synchronization; expires a while after it was finalized.
  public func synchronization(_ publisher: Int64, _ id: String) -> String { prefix + "sync:" + member(publisher, id) }
  /// Sorted set: the members of open synchronizations, by the time at which the sweep looks at them.
  public var open: String { "\(prefix)open" }
  /// The name of a synchronization in ``open``.
  public func member(_ publisher: Int64, _ id: String) -> String { "\(publisher):\(id)" }
  /// What stands before a member in the key of its synchronization.
  public var synchronizationPrefix: String { prefix + "sync:" }
  /// Hash: a customer.
  public func customer(_ publisher: Int64, _ id: Int64) -> String { "\(prefix)customer:\(publisher):\(id)" }
  /// Hash: a webhook endpoint of the API.
  public func webhook(_ publisher: Int64, _ id: String) -> String { webhookPrefix(publisher) + id }
  /// What stands before an endpoint's id in its key.
  public func webhookPrefix(_ publisher: Int64) -> String { "\(prefix)webhook:\(publisher):" }
  /// Sorted set: the ids of a publisher's endpoints, by the time of their creation.
  public func webhooks(_ publisher: Int64) -> String { "\(prefix)webhooks:\(publisher)" }
  /// String: when a publisher's endpoints last changed, in microseconds.
  public func webhooksVersion(_ publisher: Int64) -> String { "\(prefix)webhooks-version:\(publisher)" }
  /// Hash: what the attempts of late say about an endpoint, and whether it is disabled.
  public func webhookHealth(_ publisher: Int64, _ id: String) -> String { webhookHealthPrefix(publisher) + id }
  /// What stands before an endpoint's id in the key of its health.
  public func webhookHealthPrefix(_ publisher: Int64) -> String { "\(prefix)webhook-health:\(publisher):" }
  /// String: the customer who owns a purchase. Ids of the sandbox are a number space of their own.
  public func owner(_ publisher: Int64, _ environment: String, _ original: String) -> String {
    "\(prefix)owner:\(publisher):\(environment):\(original)"
  }
  /// Hash: for each app, environment and endpoint the bucket of its budget, and until when Apple has forbidden calls.
  public var budgets: String { "\(prefix)budgets" }
}
