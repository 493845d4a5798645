public import Domain

/// A notification of Apple's as the ledger keeps it, for one publisher. Its signature was verified before.
public struct KeptNotification: Sendable, Equatable {
  /// How a notification reached us.
  public enum Source: String, Sendable {
    /// Apple posted it.
    case apple
    /// Notification History had it.
    case history
    /// Notification History had it, and nobody had read that to its end before. It may be from a time in which the
    /// fleet did not know the app (decision 0063).
    case firstHistory = "first_history"
  }

  /// One that nobody has applied yet.
  public struct Open: Sendable, Equatable {
    /// The text that Apple signed.
    public let text: String
    /// How it reached us; `nil` for a word of a newer version's.
    public let source: Source?

    /// Creates one.
    public init(text: String, source: Source?) {
      self.text = text
      self.source = source
    }
  }

  public let publisherId: PublisherId
  /// Apple's `notificationUUID`.
  public let uuid: NotificationUUID
  /// Apple's `notificationType`.
  public let type: String
  public let subtype: String?
  public let environment: Environment?
  public let bundleId: BundleId?
  /// The purchase that it is about, if any.
  public let originalTransactionId: OriginalTransactionId?
  /// Milliseconds since 1970.
  public let signedDate: Int64
  public let source: Source
  /// The text that Apple signed: `signedPayload`.
  public let body: [UInt8]
  /// The ids of the publisher's URLs that get the notification, too.
  public var forwards: [EndpointId] = []
  /// The body as Apple posted it, where it must be passed on and is not ``canonical(_:)``.
  public var posted: [UInt8]?

  /// The usual body around a text that Apple signed.
  public static func canonical(_ text: [UInt8]) -> [UInt8] {
    Array("{\"signedPayload\":\"".utf8) + text + Array("\"}".utf8)
  }

  /// Lets URLs of the publisher's get the notification, too.
  ///
  /// - Parameter body: what Apple posted; `nil` if Notification History has told only the signed text.
  public func forwarded(to ids: [EndpointId], as body: [UInt8]? = nil) -> KeptNotification {
    var row = self
    row.forwards = ids
    row.posted = ids.isEmpty || body == Self.canonical(self.body) ? nil : body
    return row
  }

  /// Creates a notification.
  public init(
    publisherId: PublisherId, uuid: NotificationUUID, type: String, subtype: String? = nil,
    environment: Environment? = nil, bundleId: BundleId? = nil, originalTransactionId: OriginalTransactionId? = nil,
    signedDate: Int64, source: Source, body: [UInt8]
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

  /// Its name.
  public var key: NotificationKey { NotificationKey(publisherId: publisherId, uuid: uuid) }

  public static func == (one: Self, other: Self) -> Bool {
    one.publisherId == other.publisherId && one.uuid == other.uuid && one.body == other.body
  }
}
