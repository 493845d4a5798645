import Crypto
import Domain

/// Removes an endpoint's secrets from its recorded answers.
///
/// Many receivers echo their request for debugging. Without this filter, the log would show the `password` of the
/// format `fovea`. More people read the log than may see the secret.
struct SecretFilter {
  /// The text that replaces a secret.
  static let mark = "[secret]"

  /// A secret as it is, and without the escapes of JSON.
  private let patterns: [(plain: BytePattern, unescaped: BytePattern)]

  /// Creates a filter for all secrets of an endpoint, also for the expired ones: they may be in use elsewhere.
  init(_ endpoint: WebhookEndpoint) {
    let keys = endpoint.secrets.map(\.key)
    // A given `sharedSecret`, `password` or key of a digest is the bytes themselves. The others appear as base64.
    let shown = endpoint.format.secrets == .standard ? keys.map { Array(Base64.encode($0).utf8) } : []
    patterns = (keys + shown).compactMap { secret in
      guard let plain = BytePattern(secret), let unescaped = BytePattern(Self.letters(secret).map(\.byte)) else {
        return nil
      }
      return (plain, unescaped)
    }
  }

  /// Returns a text without the secrets, however many times JSON escaped them.
  ///
  /// - Parameter limit: the maximum number of bytes; the cut never leaves the rest of a secret.
  func clean(_ text: [UInt8], limit: Int = .max) -> [UInt8] {
    var cleaned: [UInt8] = []
    var copied = 0
    for secret in places(in: text) {
      cleaned += text[copied..<secret.lowerBound]
      guard cleaned.count < limit else { return Array(cleaned.prefix(limit)) }
      cleaned += Array(Self.mark.utf8)
      copied = secret.upperBound
    }
    return Array((cleaned + text[copied...].prefix(limit)).prefix(limit))
  }

  /// Returns a text without the secrets.
  func clean(_ text: String) -> String { String(decoding: clean(Array(text.utf8)), as: UTF8.self) }

  /// The places of all secrets, in order. Between two of them is at least a byte.
  ///
  /// A secret that begins or ends within an escape has the whole escape, so two secrets may have a part of the text in
  /// common. Such places become one, which only grows.
  private func places(in text: [UInt8]) -> [Range<Int>] {
    guard !text.isEmpty, !patterns.isEmpty else { return [] }
    let letters = Self.letters(text)
    let bytes = letters.map(\.byte)
    var found: [Range<Int>] = []
    for (plain, unescaped) in patterns {
      // A backslash before a secret may take its first letter along as an escape, so the text is also read as it is.
      found += plain.places(in: text)
      found += unescaped.places(in: bytes).map { place in
        // No letter begins or ends before the one in front of it.
        letters[place.lowerBound].range.lowerBound..<letters[place.upperBound - 1].range.upperBound
      }
    }
    found.sort { $0.lowerBound < $1.lowerBound }
    return found.reduce(into: []) { places, next in
      guard let last = places.last, next.lowerBound <= last.upperBound else { return places.append(next) }
      places[places.count - 1] = last.lowerBound..<max(last.upperBound, next.upperBound)
    }
  }

  /// A byte of a text, with its place or the place of its escape. Several letters of one escape have the same place.
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
      if let (scalar, end) = scalar(text, at: index) {
        letters += Array(String(scalar).utf8).map { Letter(byte: $0, range: start..<end) }
        index = end
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

  /// Reads `u` and four hexadecimal digits, or a pair of such escapes (RFC 8259, section 7); `nil` for any other text,
  /// and for half of a pair.
  private static func scalar(_ text: [UInt8], at index: Int) -> (Unicode.Scalar, end: Int)? {
    guard let first = unit(text, at: index) else { return nil }
    if let scalar = Unicode.Scalar(first) { return (scalar, index + 5) }
    var next = index + 5
    while next < text.count, text[next] == UInt8(ascii: "\\") { next += 1 }
    guard next > index + 5, UTF16.isLeadSurrogate(first), let second = unit(text, at: next),
      UTF16.isTrailSurrogate(second)
    else { return nil }
    let (lead, trail) = (UInt32(first) & 0x3FF, UInt32(second) & 0x3FF)
    return Unicode.Scalar(0x10000 + (lead << 10 | trail)).map { ($0, next + 5) }
  }

  private static func unit(_ text: [UInt8], at index: Int) -> UInt16? {
    guard index + 5 <= text.count, text[index] == UInt8(ascii: "u") else { return nil }
    var value: UInt16 = 0
    for byte in text[index + 1..<index + 5] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
      value = value << 4 | UInt16(digit)
    }
    return value
  }
}
