import Crypto

/// The signature of a webhook after Standard Webhooks 1.0.0, symmetric form.
enum WebhookSignature {
  /// Returns the value of `webhook-signature`: `v1,` and the base64 of the HMAC-SHA256 over id, timestamp and body.
  ///
  /// - Parameter timestamp: seconds since 1970 of this attempt.
  static func v1(id: String, timestamp: Int64, body: [UInt8], secret: [UInt8]) -> String {
    "v1," + Base64.encode(HMACSHA256.authenticate(Array("\(id).\(timestamp).".utf8) + body, key: secret))
  }
}
