public import Formats

/// A notification of Apple's as the ledger keeps it, for one publisher. Its signature was verified before.
public struct KeptNotification: Sendable, Equatable {
  /// How a notification reached us.
  public enum Source: String, Sendable {
    /// Apple posted it.
    case apple
    /// Notification History had it.
    case history
  }

  public let publisherId: Int64
  /// Apple's `notificationUUID`.
  public let uuid: String
  /// Apple's `notificationType`.
  public let type: String
  public let subtype: String?
  public let environment: String?
  public let bundleId: String?
  /// The purchase that it is about, if any.
  public let originalTransactionId: String?
  /// Milliseconds since 1970.
  public let signedDate: Int64
  public let source: Source
  /// The text that Apple signed: `signedPayload`.
  public let body: [UInt8]

  /// Creates a notification.
  public init(
    publisherId: Int64, uuid: String, type: String, subtype: String? = nil, environment: String? = nil,
    bundleId: String? = nil, originalTransactionId: String? = nil, signedDate: Int64, source: Source, body: [UInt8]
  ) {
    self.publisherId = publisherId
    self.uuid = uuid
    self.type = type
    self.subtype = subtype
    self.environment = environment
    self.bundleId = bundleId
    self.originalTransactionId = originalTransactionId
    self.signedDate = signedDate
    self.source = source
    self.body = body
  }

  public static func == (one: Self, other: Self) -> Bool {
    one.publisherId == other.publisherId && one.uuid.exact == other.uuid.exact && one.body == other.body
  }
}

/// The name of a notification in the ledger.
public struct NotificationKey: Sendable, Hashable {
  public let publisherId: Int64
  public let uuid: ExactText

  /// Creates a name.
  public init(publisherId: Int64, uuid: String) { (self.publisherId, self.uuid) = (publisherId, uuid.exact) }
}
