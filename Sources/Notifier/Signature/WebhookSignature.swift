import Crypto
import Domain

/// The signatures of a webhook, after Standard Webhooks 1.0.0.
enum WebhookSignature {
  /// Returns the value of `webhook-signature`: one signature for each key, newest first, separated by spaces.
  ///
  /// - Parameters:
  ///   - timestamp: seconds since 1970 of this attempt.
  ///   - keys: keys of one scheme, as ``WebhookEndpoint/Secret/key`` defines them.
  /// - Throws: `CryptoError` for a key that does not fit its scheme.
  static func list(
    _ scheme: WebhookEndpoint.Signature, id: String, timestamp: Int64, body: [UInt8], keys: [[UInt8]]
  ) throws(CryptoError) -> String {
    let message = Array("\(id).\(timestamp).".utf8) + body
    var signatures: [String] = []
    for key in keys {
      switch scheme {
      case .v1: signatures.append("v1," + Base64.encode(HMACSHA256.authenticate(message, key: key)))
      case .v1a: signatures.append("v1a," + Base64.encode(try Ed25519PrivateKey(seed: key).signature(for: message)))
      }
    }
    return signatures.joined(separator: " ")
  }
}
