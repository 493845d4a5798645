public import Crypto
import Formats

extension WebhookEndpoint {
  /// A new id: `ep_` and 96 random bits in hexadecimal.
  public static func newId() throws(CryptoError) -> EndpointId {
    EndpointId("ep_" + Hex.encode(try secureRandomBytes(12)))
  }

  /// The endpoint that a publisher's file describes.
  public init(_ configured: Publisher.WebhookEndpoint) {
    self.init(
      id: configured.id, url: configured.url, topics: configured.topics, secrets: [Secret(key: configured.secret)],
      environment: configured.environment, source: .configuration)
  }

  /// The endpoint of a URL that gets Apple's notifications.
  public init(_ forward: NotificationForward) {
    self.init(
      id: forward.id, url: forward.url, topics: [], secrets: [], retry: .schedule(Self.scheduleOfForwards),
      environment: forward.environment, source: .configuration)
    isForward = true
  }

  /// Whether the file lets the URL get the notifications of an environment, in Apple's word. The file may have changed
  /// since the notification came.
  public func getsNotifications(of environment: Environment?) -> Bool {
    guard let own = self.environment, let environment else { return isForward }
    return isForward && own.name == environment
  }

  /// The delay before each further attempt to pass a notification on; 24 hours in all.
  public static let scheduleOfForwards: [Duration] = [5, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 29_335].map {
    .seconds($0)
  }
}
