import Crypto
import Domain
import Testing

@testable import Notifier

/// The signatures of a webhook.
struct WebhookSignatureTests {
  private func list(
    id: String = "a", timestamp: Int64 = 1, body: [UInt8] = [1], keys: [[UInt8]] = [Array("secret".utf8)]
  ) throws -> String {
    try WebhookSignature.list(.v1, id: id, timestamp: timestamp, body: body, keys: keys)
  }

  /// The test vector of the specification.
  @Test func standardWebhooksVector() throws {
    let secret = try #require(Base64.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    let signature = try WebhookSignature.list(
      .v1, id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8),
      keys: [secret])
    #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test func everyPartIsSigned() throws {
    let signatures = [
      try list(), try list(id: "b"), try list(timestamp: 2), try list(body: [2]), try list(keys: [Array("other".utf8)]),
    ]
    #expect(Set(signatures).count == signatures.count)
  }

  /// During a rotation every key signs, the newest first.
  @Test func oneSignatureForEachKey() throws {
    let keys = [Array("new".utf8), Array("old".utf8)]
    let both = try list(keys: keys)
    let new = try list(keys: [keys[0]])
    let old = try list(keys: [keys[1]])
    #expect(both == "\(new) \(old)")
    #expect(try list(keys: []) == "")
  }

  @Test func asymmetric() throws {
    let seed = [UInt8](repeating: 7, count: 32)
    let signature = try WebhookSignature.list(.v1a, id: "a", timestamp: 1, body: [0x62], keys: [seed])
    let expected = try Ed25519PrivateKey(seed: seed).signature(for: Array("a.1.b".utf8))
    #expect(signature == "v1a," + Base64.encode(expected))
    #expect(throws: CryptoError.self) {
      try WebhookSignature.list(.v1a, id: "a", timestamp: 1, body: [], keys: [[1]])
    }
  }
}
