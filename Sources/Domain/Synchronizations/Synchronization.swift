/// One verification of one transaction for one customer.
public struct Synchronization: Sendable, Equatable {
  /// The state of a synchronization; the documented words of the status answer.
  public enum Status: String, Sendable { case processing, retrying, finalized }

  /// The synchronization's name; the client's `Correlation-Id`, if the client sent one.
  public let id: SynchronizationId
  public let publisherId: PublisherId
  public let customerId: CustomerId
  public let transactionId: TransactionId
  public let kind: Job.Kind
  public var status: Status
  /// How it ended, once finalized.
  public var result: SynchronizationResult?
  /// The version of the purchase after the commit that finalized it; 0 without a purchase, and until then.
  public var version: Int64
  /// When it was finalized, in milliseconds since 1970; `nil` until then.
  public var finalizedAt: Int64?
  /// The trace that its event continues.
  public var traceparent: String?

  /// Creates a synchronization.
  public init(
    id: SynchronizationId, publisherId: PublisherId, customerId: CustomerId, transactionId: TransactionId,
    kind: Job.Kind = .registration,
    status: Status, result: SynchronizationResult? = nil, version: Int64 = 0, finalizedAt: Int64? = nil,
    traceparent: String? = nil
  ) {
    self.id = id
    self.publisherId = publisherId
    self.customerId = customerId
    self.transactionId = transactionId
    self.kind = kind
    self.status = status
    self.result = result
    self.version = version
    self.finalizedAt = finalizedAt
    self.traceparent = traceparent
  }
}
