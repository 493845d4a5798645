import Crypto
import Testing

/// Digests against published values.
struct DigestTests {
  /// FIPS 180-4.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
  ])
  func sha256(message: String, digest: String) {
    #expect(Hex.encode(SHA256.hash(Array(message.utf8))) == digest)
    #expect(Hex.encode(SHA256.hash(message.utf8)) == digest)
  }

  /// RFC 4231, test cases 2 and 6.
  @Test func hmac() {
    #expect(
      Hex.encode(HMACSHA256.authenticate(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    #expect(
      Hex.encode(
        HMACSHA256.authenticate(
          Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
          key: [UInt8](repeating: 0xaa, count: 131)))
        == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
  }

  @Test func emptyHMAC() {
    #expect(
      Hex.encode(HMACSHA256.authenticate([], key: []))
        == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
  }

  @Test func constantTime() {
    #expect(constantTimeEqual([], []))
    #expect(constantTimeEqual([1, 2], [1, 2]))
    #expect(!constantTimeEqual([1, 2], [1, 3]))
    #expect(!constantTimeEqual([1, 2], [1]))
  }

  @Test func random() throws {
    #expect(try secureRandomBytes(0) == [])
    let bytes = try secureRandomBytes(32)
    #expect(bytes.count == 32)
    #expect(try bytes != secureRandomBytes(32))
  }
}
