import Crypto
import Domain

/// Removes an endpoint's secrets from its recorded answers.
///
/// Many receivers echo their request for debugging. Without this filter, the log would show the `password` of the
/// format `fovea`. More people read the log than may see the secret.
struct SecretFilter {
  /// The text that replaces a secret.
  static let mark = "[secret]"

  /// The secrets without the escapes of JSON.
  private let secrets: [[UInt8]]

  /// Creates a filter for all secrets of an endpoint, also for the expired ones: they may be in use elsewhere.
  init(_ endpoint: WebhookEndpoint) {
    let keys = endpoint.secrets.map(\.key)
    // A given `sharedSecret`, `password` or key of a digest is the bytes themselves. The others appear as base64.
    let shown = endpoint.format == .cleeng ? keys.map { Array(Base64.encode($0).utf8) } : []
    secrets = (keys + shown).map { Self.letters($0).map(\.byte) }.filter { !$0.isEmpty }
  }

  /// Returns a text without the secrets, however many times JSON escaped them.
  ///
  /// - Parameter limit: the maximum number of bytes; the cut never leaves the rest of a secret.
  func clean(_ text: [UInt8], limit: Int = .max) -> [UInt8] {
    guard !text.isEmpty, !secrets.isEmpty else { return Array(text.prefix(limit)) }
    let letters = Self.letters(text)
    var cleaned: [UInt8] = []
    var copied = 0
    var index = 0
    while index < letters.count, cleaned.count + letters[index].range.lowerBound - copied < limit {
      guard let length = secretLength(in: letters, at: index) else {
        index += 1
        continue
      }
      cleaned += text[copied..<letters[index].range.lowerBound]
      cleaned += Array(Self.mark.utf8)
      copied = letters[index + length - 1].range.upperBound
      index += length
    }
    cleaned += text[copied...].prefix(max(0, limit - cleaned.count))
    return Array(cleaned.prefix(limit))
  }

  /// Returns a text without the secrets.
  func clean(_ text: String) -> String { String(decoding: clean(Array(text.utf8)), as: UTF8.self) }

  private func secretLength(in letters: [Letter], at index: Int) -> Int? {
    let found = secrets.filter { secret in
      secret[0] == letters[index].byte && secret.count <= letters.count - index
        && secret.indices.allSatisfy { secret[$0] == letters[index + $0].byte }
    }
    return found.map(\.count).max()
  }

  /// A byte of a text, with its place or the place of its escape.
  private struct Letter {
    let byte: UInt8
    let range: Range<Int>
  }

  /// Reads a text as JSON within JSON within JSON. A row of backslashes of any length escapes the next letter.
  private static func letters(_ text: [UInt8]) -> [Letter] {
    var letters: [Letter] = []
    letters.reserveCapacity(text.count)
    var index = 0
    while index < text.count {
      let start = index
      while index < text.count, text[index] == UInt8(ascii: "\\") { index += 1 }
      guard index < text.count else { break }
      guard index > start else {
        letters.append(Letter(byte: text[index], range: index..<index + 1))
        index += 1
        continue
      }
      if let scalar = scalar(text, at: index) {
        let range = start..<index + 5
        letters += Array(String(scalar).utf8).map { Letter(byte: $0, range: range) }
        index += 5
      } else {
        let byte = controls[text[index]] ?? text[index]
        letters.append(Letter(byte: byte, range: start..<index + 1))
        index += 1
      }
    }
    return letters
  }

  /// The letters behind a backslash that stand for a control character (RFC 8259, section 7).
  private static let controls: [UInt8: UInt8] = [
    UInt8(ascii: "b"): 0x08, UInt8(ascii: "f"): 0x0c, UInt8(ascii: "n"): 0x0a, UInt8(ascii: "r"): 0x0d,
    UInt8(ascii: "t"): 0x09,
  ]

  /// Reads `u` and four hexadecimal digits; `nil` for any other text, and for half of a pair.
  private static func scalar(_ text: [UInt8], at index: Int) -> Unicode.Scalar? {
    guard index + 5 <= text.count, text[index] == UInt8(ascii: "u") else { return nil }
    var value: UInt32 = 0
    for byte in text[index + 1..<index + 5] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
      value = value << 4 | UInt32(digit)
    }
    return Unicode.Scalar(value)
  }
}
