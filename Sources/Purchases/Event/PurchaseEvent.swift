import FoundationEssentials

/// The message that tells a result; the same bytes and the same id however often it is published.
public struct PurchaseEvent: Sendable, Equatable {
  /// The documented topic.
  public static let topic = "inappPurchaseSyncResult"

  /// Derived from the synchronization; consumers drop repeats by it.
  public let id: String
  public let publisherId: Int64
  /// The fencing number: grows with every synchronization of the transaction.
  public let version: Int64
  /// When the synchronization was finalized, in milliseconds since 1970.
  public let time: Int64
  /// The trace to continue.
  public let traceparent: String?
  /// The documented envelope, as JSON.
  public let body: [UInt8]

  /// Creates the event of a finalized synchronization; `nil` while it is not finalized.
  ///
  /// - Parameter id: must be derived from the synchronization alone.
  public init?(of synchronization: Synchronization, id: String) {
    guard let conclusion = synchronization.conclusion else { return nil }
    self.id = id
    publisherId = synchronization.publisherId
    version = conclusion.version
    time = conclusion.finalizedAt
    traceparent = conclusion.traceparent
    let envelope = Envelope(
      broadcasterId: synchronization.publisherId, topic: Self.topic,
      data: Envelope.Content(
        synchronizationId: synchronization.id, transactionId: synchronization.transactionId,
        cleengCustomerId: synchronization.customerId,
        originalTransactionId: conclusion.outcome.originalTransactionId,
        accessGranted: conclusion.outcome.accessGranted, offerId: conclusion.outcome.offerId,
        result: conclusion.outcome.result.rawValue))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Strings and integers always encode.
    guard let body = try? encoder.encode(envelope) else { return nil }
    self.body = Array(body)
  }

  private struct Envelope: Encodable {
    let broadcasterId: Int64
    let topic: String
    let data: Content

    struct Content: Encodable {
      let synchronizationId: String
      let transactionId: String
      let cleengCustomerId: Int64
      let originalTransactionId: String?
      let accessGranted: Bool
      let offerId: String?
      let result: String
    }
  }
}
