public import Crypto
public import Domain

extension WebhookEndpoint {
  /// A new id: `ep_` and 96 random bits in hexadecimal.
  public static func newId() throws(CryptoError) -> String { "ep_" + Hex.encode(try secureRandomBytes(12)) }

  /// Whether a text can be an endpoint's id, of the API or of a file. A caller need not look for any other text.
  public static func isId(_ text: String) -> Bool { (1...256).contains(text.unicodeScalars.count) }

  /// The endpoint that a publisher's file describes.
  public init(_ configured: Publisher.WebhookEndpoint) {
    self.init(
      id: configured.id, url: configured.url, topics: configured.topics, secrets: [Secret(key: configured.secret)],
      environment: configured.environment, source: .configuration)
  }
}
