public import Crypto

/// The key of an endpoint in the form that its publisher writes.
///
/// Standard Webhooks 1.0.0 writes a shared secret as `whsec_` and base64, an Ed25519 key as `whsk_` and base64. The
/// formats of other houses use theirs as plain text, in a body or as the key of a digest. For them the key is the
/// text.
public enum WebhookSecret {
  /// How a secret is written.
  public enum Form: Sendable {
    /// As Standard Webhooks 1.0.0 writes it.
    case standard
    /// As plain text.
    case text
  }

  /// The expected form of a given secret, for an error.
  public static func expectation(_ format: WebhookEndpoint.Format, _ signature: WebhookEndpoint.Signature) -> String {
    switch (format.secrets, signature) {
    case (.standard, .v1): "expected whsec_ and the base64 of 24 to 64 bytes"
    case (.standard, .v1a):
      "expected whsk_ and the base64 of an Ed25519 private key: its seed of 32 bytes, or both halves in 64"
    case (.text, _): "expected 16 to 64 visible ASCII characters"
    }
  }

  /// Reads a given secret; `nil` when it does not match ``expectation(_:_:)``.
  public static func key(
    _ text: String, _ format: WebhookEndpoint.Format, _ signature: WebhookEndpoint.Signature
  ) -> [UInt8]? {
    key(text, format.secrets, signature)
  }

  /// Reads a given secret of a form; `nil` when it does not match.
  public static func key(_ text: String, _ form: Form, _ signature: WebhookEndpoint.Signature) -> [UInt8]? {
    switch (form, signature) {
    case (.standard, .v1): decoded(text, "whsec_", 24...64)
    case (.standard, .v1a): decoded(text, "whsk_", 32...64).flatMap(seed)
    case (.text, _):
      (16...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
        ? Array(text.utf8) : nil
    }
  }

  /// Draws a key of 256 random bits.
  public static func newKey(_ format: WebhookEndpoint.Format) throws(CryptoError) -> [UInt8] {
    let bytes = try secureRandomBytes(32)
    return format.secrets == .standard ? bytes : Array(Base64URL.encode(bytes).utf8)
  }

  /// The text with which a receiver verifies signatures of `v1a`: `whpk_` and base64; `nil` for a key that is not
  /// Ed25519.
  public static func publicText(_ key: [UInt8]) -> String? {
    (try? Ed25519PrivateKey(seed: key)).map { "whpk_" + Base64.encode($0.publicKey) }
  }

  /// The form in which the API shows a shared secret, once.
  public static func text(_ key: [UInt8], _ format: WebhookEndpoint.Format) -> String {
    format.secrets == .standard ? "whsec_" + Base64.encode(key) : String(decoding: key, as: UTF8.self)
  }

  /// The seed of an Ed25519 key. Some write the public half behind it (RFC 8032 calls only the seed the private key).
  private static func seed(_ bytes: [UInt8]) -> [UInt8]? {
    let seed = Array(bytes.prefix(32))
    guard let key = try? Ed25519PrivateKey(seed: seed) else { return nil }
    return bytes.count == 32 || Array(bytes.dropFirst(32)) == key.publicKey ? seed : nil
  }

  private static func decoded(_ text: String, _ prefix: String, _ count: ClosedRange<Int>) -> [UInt8]? {
    guard text.hasPrefix(prefix), let bytes = Base64.decode(text.dropFirst(prefix.count)),
      count.contains(bytes.count)
    else { return nil }
    return bytes
  }
}
