public import Domain

/// The names of the keys that Countersign has in Redis. Those of a line are in `LuaFunction+Line`.
///
/// A key of a publisher names it. So a registration of one tenant neither blocks another tenant nor appears there.
public struct Keys: Sendable {
  let prefix: String

  /// Creates the names with the configured prefix.
  public init(prefix: String) { self.prefix = prefix }

  /// String: the ``Claim`` on a transactionId.
  public func claim(_ publisher: PublisherId, _ transaction: TransactionId) -> String {
    "\(prefix)claim:\(publisher):\(transaction)"
  }
  /// String with expiry: a second synchronization of a claimed transaction was recorded a moment ago.
  public func shared(_ publisher: PublisherId, _ transaction: TransactionId) -> String {
    "\(prefix)shared:\(publisher):\(transaction)"
  }
  /// String: the last lease of a transaction, and the facts known about the transaction (`TransactionRecord`). It has
  /// an expiry while no worker has the lease.
  public func transaction(_ publisher: PublisherId, _ transaction: TransactionId) -> String {
    "\(prefix)transaction:\(publisher):\(transaction)"
  }
  /// Hash: the synchronization. It expires some time after its finalization.
  public func synchronization(_ publisher: PublisherId, _ id: SynchronizationId) -> String {
    prefix + "sync:" + member(publisher, id)
  }
  /// Sorted set: the members of a lane's open synchronizations, by the time at which the sweep looks at them.
  public func open(_ lane: JobLane) -> String { lane == .usual ? "\(prefix)open" : "\(prefix)open:bulk" }
  /// Hash: for each publisher how many of its synchronizations are open, and how far its rate is used up.
  public var limits: String { "\(prefix)limits" }
  /// Set: the open synchronizations of a customer, by their names in ``open(_:)-(JobLane)``.
  public func open(_ publisher: PublisherId, _ customer: CustomerId) -> String {
    "\(prefix)open:\(publisher):\(customer)"
  }
  /// String with expiry: how far a customer's rate is used up, in microseconds since 1970.
  public func rate(_ publisher: PublisherId, _ customer: CustomerId) -> String {
    "\(prefix)rate:\(publisher):\(customer)"
  }
  /// String with expiry: how far the rate of a caller's reads is used up, in microseconds since 1970.
  public func requestRate(_ publisher: PublisherId, _ caller: String) -> String {
    "\(prefix)reads:\(publisher):\(caller)"
  }
  /// The name of a synchronization in ``open(_:)-(JobLane)``.
  public func member(_ publisher: PublisherId, _ id: SynchronizationId) -> String { "\(publisher):\(id)" }
  /// The part before a member in the key of its synchronization.
  public var synchronizationPrefix: String { prefix + "sync:" }
  /// String with expiry: a copy of whether the publisher has put a customer. The ledger has the truth.
  public func customer(_ publisher: PublisherId, _ id: CustomerId) -> String { "\(prefix)customer:\(publisher):\(id)" }
  /// Hash: for each app, environment and endpoint the bucket of its budget, and until when Apple has forbidden calls.
  public var budgets: String { "\(prefix)budgets" }
  /// Sorted set: the lines of a lane's jobs that wait for a call to Apple, by the time at which each is worth a look,
  /// in milliseconds. `LuaFunction.joinLine` tells of the keys of one line.
  public func lines(_ lane: JobLane) -> String { lane == .usual ? "\(prefix)lines" : "\(prefix)lines:bulk" }
  /// Hash: the state of one line. The keys of its sorted sets begin with this one.
  public func line(_ name: String) -> String { "\(prefix)line:\(name)" }
  /// String with expiry: the last turn of a publisher's jobs that wait for an app whose key Apple refuses, in
  /// microseconds since 1970.
  public func turns(_ publisher: PublisherId) -> String { "\(prefix)turns:\(publisher)" }
  /// String with expiry: how many runs of something have begun and not ended. The name tells of what: `delivery:HASH`,
  /// `notification:UUID`, `timer:…`, `refund:…` or `history:…`.
  public func begun(_ name: String) -> String { "\(prefix)begun:\(name)" }
}
