import Crypto
import Domain
import Ledger
import Testing

@testable import Doors

/// Secrets in the form that publishers use.
struct WebhookSecretTests {
  private let seed = [UInt8](0..<32)

  @Test func `a shared secret is whsec and base64`() throws {
    let text = "whsec_" + Base64.encode(seed)
    #expect(WebhookSecret.key(text, .cleeng, .v1) == seed)
    #expect(WebhookSecret.text(seed, .cleeng) == text)
    let drawn = try WebhookSecret.newKey(.cleeng)
    #expect(drawn.count == 32)
    #expect(WebhookSecret.key(WebhookSecret.text(drawn, .cleeng), .cleeng, .v1) == drawn)
  }

  @Test(arguments: [
    "", "whsec_", "whsec_AAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "whsk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "WHSEC_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "whsec_" + String(repeating: "A", count: 88),
  ])
  func noSharedSecret(text: String) {
    #expect(WebhookSecret.key(text, .cleeng, .v1) == nil)
  }

  @Test func `a private key is its seed, with or without the public half`() throws {
    let pair = seed + (try Ed25519PrivateKey(seed: seed).publicKey)
    #expect(WebhookSecret.key("whsk_" + Base64.encode(seed), .cleeng, .v1a) == seed)
    #expect(WebhookSecret.key("whsk_" + Base64.encode(pair), .cleeng, .v1a) == seed)
    #expect(WebhookSecret.key("whsk_" + Base64.encode(seed + seed), .cleeng, .v1a) == nil)
    #expect(WebhookSecret.key("whsk_" + Base64.encode(Array(pair.dropLast())), .cleeng, .v1a) == nil)
    #expect(WebhookSecret.key("whsec_" + Base64.encode(seed), .cleeng, .v1a) == nil)
  }

  @Test func `a public key is that of the seed`() {
    // RFC 8032, section 7.1, test 1.
    let seed = Hex.decode("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    let key = Hex.decode("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    #expect(WebhookSecret.publicText(seed ?? []) == "whpk_" + Base64.encode(key ?? []))
    #expect(WebhookSecret.publicText([1]) == nil)
  }

  @Test(arguments: [WebhookEndpoint.Format.fovea, .mbaasy]) func plainText(format: WebhookEndpoint.Format) throws {
    #expect(WebhookSecret.key("0123456789abcdef", format, .v1) == Array("0123456789abcdef".utf8))
    for text in ["0123456789abcde", "0123456789abcde\u{e9}", "0123456789 abcdef", String(repeating: "a", count: 65)] {
      #expect(WebhookSecret.key(text, format, .v1) == nil)
    }
    let text = WebhookSecret.text(try WebhookSecret.newKey(format), format)
    #expect(text.utf8.count == 43)
    #expect(WebhookSecret.key(text, format, .v1) == Array(text.utf8))
  }
}
