import Crypto
import Formats
import Glibc

/// A secret that a test plants, and every form in which it could turn up.
struct Canary: Sendable {
  /// Where it is planted.
  let name: String
  let bytes: [UInt8]
  /// The forms to look for, each with its name.
  let forms: [(name: String, bytes: [UInt8])]

  init(_ name: String, _ bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
    var forms: [(name: String, bytes: [UInt8])] = [("plain", bytes)]
    func add(_ name: String, _ text: String) { forms.append((name, Array(text.utf8))) }
    add("hexadecimal", Hex.encode(bytes))
    add("hexadecimal", Hex.encode(bytes).uppercased())
    // Base64 within the base64 of a longer text begins at one of three places.
    for offset in 0..<3 {
      let text = Base64.encode([UInt8](repeating: 0, count: offset) + bytes)
      let own = String(text.prefix((offset + bytes.count) * 8 / 6).dropFirst([0, 2, 3][offset]))
      add("base64", own)
      add("base64url", own.replacing("+", with: "-").replacing("/", with: "_"))
      // `bytea` is hexadecimal in a row's text.
      add("hexadecimal of base64", Hex.encode(Array(own.utf8)))
    }
    let text = String(decoding: bytes, as: UTF8.self)
    if Array(text.utf8) == bytes {
      add("percent-encoded", PercentCoding.encoded(text))
      add("escaped for JSON", text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))
      add("escaped for JSON", text.replacing("/", with: "\\/"))
    }
    self.forms = forms
  }

  init(_ name: String, text: String) { self.init(name, Array(text.utf8)) }

  /// A new text that needs an escape in URLs, and that no other text looks like.
  static func text(_ name: String, _ random: Int = 24) throws -> Canary {
    Canary(name, text: "canary:" + Base64.encode(try secureRandomBytes(random)) + "+/@%1")
  }

  /// A new text of visible ASCII characters that stays the same in URLs, for a token.
  static func token(_ name: String) throws -> Canary {
    Canary(name, text: "canary-" + Hex.encode(try secureRandomBytes(16)))
  }

  /// The SHA-256 of the text in hexadecimal, as a publisher's file has it.
  var hash: String { Hex.encode(SHA256.hash(bytes)) }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The first form in a text; `nil` if there is none.
  func found(in text: [UInt8]) -> String? { forms.first { Self.contains(text, $0.bytes) }?.name }

  private static func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
    text.withUnsafeBytes { text in
      part.withUnsafeBytes { part in
        var start = 0
        while start + part.count <= text.count,
          let found = memchr(text.baseAddress! + start, Int32(part[0]), text.count - part.count - start + 1)
        {
          if memcmp(found, part.baseAddress!, part.count) == 0 { return true }
          start = UnsafeRawPointer(found) - text.baseAddress! + 1
        }
        return false
      }
    }
  }
}
