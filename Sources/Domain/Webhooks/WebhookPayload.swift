/// The request body of an event, in the endpoint's format.
///
/// The events of a vendor's door have the vendor's body as their `data`, and the notifier posts just that in the
/// vendor's format. If a format has no shape for an event, such as the one about a disabled endpoint, the notifier
/// posts the event unchanged.
public struct WebhookPayload: Sendable, Equatable {
  public let body: [UInt8]
  /// The headers of the format. The headers of Standard Webhooks come in addition.
  public var headers: [Header]

  /// A header field.
  public struct Header: Sendable, Equatable {
    public let name: String
    public let value: String

    /// Creates a field.
    public init(name: String, value: String) { (self.name, self.value) = (name, value) }
  }

  /// Creates a payload.
  public init(body: [UInt8], headers: [Header] = []) { (self.body, self.headers) = (body, headers) }

  /// Makes the payload of an event.
  ///
  /// - Parameter keys: the endpoint's keys that sign now, the newest first.
  public init(_ event: WebhookEvent, _ endpoint: WebhookEndpoint, keys: [[UInt8]]) {
    guard let write = endpoint.format.write, let content = WebhookContent(event, endpoint.format) else {
      self.init(body: event.body)
      return
    }
    // The private half of a key is no password, and no key of a digest.
    self = write(content, endpoint.signature == .v1 ? keys.first : nil)
  }
}
