import Crypto
import Testing

/// Each byte string has exactly one text, and nothing else decodes.
struct EncodingTests {
  /// RFC 4648, section 10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func base64(text: String, encoded: String) {
    let bytes = Array(text.utf8)
    #expect(Base64.encode(bytes) == encoded)
    #expect(Base64.decode(encoded) == bytes)
    let unpadded = String(encoded.prefix { $0 != "=" })
    #expect(Base64URL.encode(bytes) == unpadded)
    #expect(Base64URL.decode(unpadded) == bytes)
  }

  @Test func alphabets() {
    let bytes: [UInt8] = [0xfb, 0xff, 0xfe]
    #expect(Base64.encode(bytes) == "+//+")
    #expect(Base64URL.encode(bytes) == "-__-")
    #expect(Base64.decode("-__-") == nil)
    #expect(Base64URL.decode("+//+") == nil)
    #expect(Base64URL.decode("a-__-"[...].dropFirst()) == bytes)
  }

  @Test(arguments: ["Zg", "Zg=", "Zh==", "Z===", "====", "Zg==\n", " Zg=", "Zg==Zg==", "Zm8=Zm8=", "Zm9é", "A"])
  func notBase64(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test(arguments: ["Zg==", "Zh", "A", "Zm9vA", "Zm 9", "Zm9v\n", "Zm9v.", "Zm9é"])
  func notBase64URL(text: String) {
    #expect(Base64URL.decode(text) == nil)
  }

  @Test func everyByte() {
    let bytes = (0...255).map { UInt8($0) }
    for count in 0...bytes.count {
      let part = Array(bytes.prefix(count))
      #expect(Base64.decode(Base64.encode(part)) == part)
      #expect(Base64URL.decode(Base64URL.encode(part)) == part)
      #expect(Hex.decode(Hex.encode(part)) == part)
    }
  }

  @Test func hex() {
    #expect(Hex.decode("00fF7a") == [0, 255, 0x7a])
    #expect(Hex.decode("0") == nil)
    #expect(Hex.decode("0g") == nil)
    #expect(Hex.decode("0x00") == nil)
  }
}
