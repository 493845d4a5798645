import Crypto
public import Formats

/// A URL of a publisher's that gets each of Apple's notifications as Apple posted it, for example that of a staging
/// system. Apple itself has room for one URL only.
public struct NotificationForward: Sendable, Equatable {
  @Exact public private(set) var url: String
  /// The only environment whose notifications it gets; `nil` for both.
  public let environment: WebhookEnvironment?
  /// Names the URL in the ledger, in logs and in delayed deliveries. It is a hash, because a URL may hold a secret.
  public let id: EndpointId

  /// Creates a forward.
  public init(url: String, environment: WebhookEnvironment? = nil) {
    self.url = url
    self.environment = environment
    id = EndpointId("fwd_" + Hex.encode(SHA256.hash(Array(url.utf8))[..<12]))
  }
}
