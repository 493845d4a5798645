import Formats

extension WebhookEndpoint {
  /// The form of the posted body. The core has one of its own, and doors bring those of their vendors.
  public struct Format: Sendable {
    /// Its name in the API and in the ledger.
    public let rawValue: String
    /// The topics for which it has a shape: those of an endpoint whose publisher names none.
    public let topics: [EventTopic]
    /// The form of its secrets.
    public let secrets: WebhookSecret.Form
    /// Whether the vendor's contract lets a receiver have a self-signed certificate.
    public let allowsSelfSigned: Bool
    /// Makes the payload of an event for which the format has a shape; `nil` if it posts the envelope.
    ///
    /// The second argument is the endpoint's newest secret; `nil` if it has none that is shared.
    let write: (@Sendable (WebhookContent, _ key: [UInt8]?) -> WebhookPayload)?

    /// Declares the format of a vendor, whose secret is a text.
    public init(
      _ rawValue: String, topics: [EventTopic], allowsSelfSigned: Bool = false,
      write: @escaping @Sendable (WebhookContent, _ key: [UInt8]?) -> WebhookPayload
    ) {
      (self.rawValue, self.topics) = (rawValue, topics)
      (secrets, self.allowsSelfSigned, self.write) = (.text, allowsSelfSigned, write)
    }

    private init(standard rawValue: String, topics: [EventTopic]) {
      (self.rawValue, self.topics) = (rawValue, topics)
      (secrets, allowsSelfSigned, write) = (.standard, false, nil)
    }

    /// The event as services read it from the broker: `{broadcasterId, topic, data}`. It has Cleeng's name, because our
    /// own API began as that contract; no door needs to be open for it.
    public static let cleeng = Format(standard: "cleeng", topics: [EventTopic.synchronizationResult])
  }
}

extension WebhookEndpoint.Format: Equatable {
  public static func == (one: Self, other: Self) -> Bool { one.rawValue.isExactly(other.rawValue) }
}
