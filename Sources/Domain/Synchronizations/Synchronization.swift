/// One verification of one transaction for one customer.
public struct Synchronization: Sendable, Equatable {
  /// Where a synchronization stands; the documented words of the status answer.
  public enum Status: String, Sendable { case processing, retrying, finalized }

  /// Names it; the client's `Correlation-Id` when one was given.
  public let id: String
  public let publisherId: Int64
  /// `cleengCustomerId` on the wire.
  public let customerId: Int64
  public let transactionId: String
  public var status: Status
  /// What it came to, once finalized.
  public var conclusion: Conclusion?

  /// Creates a synchronization.
  public init(
    id: String, publisherId: Int64, customerId: Int64, transactionId: String, status: Status,
    conclusion: Conclusion? = nil
  ) {
    self.id = id
    self.publisherId = publisherId
    self.customerId = customerId
    self.transactionId = transactionId
    self.status = status
    self.conclusion = conclusion
  }
}

/// How a synchronization ended.
public struct Conclusion: Sendable, Equatable {
  /// The outcome that took effect.
  public var outcome: Outcome
  /// The fencing number that finalized it: grows with every synchronization of the transaction.
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
