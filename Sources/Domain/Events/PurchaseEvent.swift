import JSON

/// The message that tells a result. However often it is published, it has the same bytes and the same id.
public struct PurchaseEvent: Sendable, Equatable {
  /// The documented topic.
  public static let topic = "inappPurchaseSyncResult"

  /// The id comes from the synchronization alone; consumers drop repeats by it.
  public let id: String
  public let publisherId: Int64
  /// The fencing number: it grows with every synchronization of the transaction.
  public let version: Int64
  /// When the synchronization was finalized, in milliseconds since 1970.
  public let time: Int64
  /// The trace to continue.
  public let traceparent: String?
  /// The documented envelope, as JSON.
  public let body: [UInt8]

  /// Creates the event of a finalized synchronization; `nil` while it is not finalized.
  ///
  /// - Parameter id: must come from the synchronization alone.
  public init?(of synchronization: Synchronization, id: String) {
    guard let conclusion = synchronization.conclusion else { return nil }
    self.id = id
    publisherId = synchronization.publisherId
    version = conclusion.version
    time = conclusion.finalizedAt
    traceparent = conclusion.traceparent
    let outcome = conclusion.outcome
    body = JSONWriter.object { envelope in
      envelope.member("broadcasterId", synchronization.publisherId)
      envelope.member("data") { data in
        data.member("accessGranted", outcome.accessGranted)
        data.member("cleengCustomerId", synchronization.customerId)
        data.member("environment", outcome.environment)
        data.member("offerId", outcome.offerId)
        data.member("originalTransactionId", outcome.originalTransactionId)
        data.member("result", outcome.result.rawValue)
        data.member("synchronizationId", synchronization.id)
        data.member("transactionId", synchronization.transactionId)
      }
      envelope.member("topic", Self.topic)
    }
  }
}
