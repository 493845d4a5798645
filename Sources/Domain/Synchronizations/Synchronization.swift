/// One verification of one transaction for one customer.
public struct Synchronization: Sendable, Equatable {
  /// The state of a synchronization; the documented words of the status answer.
  public enum Status: String, Sendable { case processing, retrying, finalized }

  /// The synchronization's name; the client's `Correlation-Id`, if the client sent one.
  public let id: SynchronizationId
  public let publisherId: Int64
  public let customerId: CustomerId
  public let transactionId: TransactionId
  public let kind: Job.Kind
  public var status: Status
  /// Its result, once finalized.
  public var conclusion: Conclusion?

  /// Creates a synchronization.
  public init(
    id: SynchronizationId, publisherId: Int64, customerId: CustomerId, transactionId: TransactionId,
    kind: Job.Kind = .registration,
    status: Status, conclusion: Conclusion? = nil
  ) {
    self.id = id
    self.publisherId = publisherId
    self.customerId = customerId
    self.transactionId = transactionId
    self.kind = kind
    self.status = status
    self.conclusion = conclusion
  }
}

/// How a synchronization ended.
public struct Conclusion: Sendable, Equatable {
  /// The outcome that took effect.
  public var outcome: Outcome
  /// The version of the purchase after the commit; 0 without a purchase.
  public var version: Int64
  /// Milliseconds since 1970.
  public var finalizedAt: Int64
  /// The trace that the event continues.
  public var traceparent: String?

  /// Creates a conclusion.
  public init(outcome: Outcome, version: Int64, finalizedAt: Int64, traceparent: String? = nil) {
    self.outcome = outcome
    self.version = version
    self.finalizedAt = finalizedAt
    self.traceparent = traceparent
  }
}
