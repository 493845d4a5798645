import Formats

/// Says where a text stops being JSON, what stands there, and what may be missing.
///
/// `line 3, column 2: "\"" is unexpected; is a comma missing before it?`
struct JSONMistake: CustomStringConvertible {
  private let bytes: [UInt8]
  private let offset: Int

  /// - Parameter offset: the first byte that no JSON has there; the text's length if it ends too early.
  init(at offset: Int, in bytes: [UInt8]) {
    self.bytes = bytes
    self.offset = min(max(0, offset), bytes.count)
  }

  /// The line and the column that an editor shows.
  var place: String {
    guard offset < bytes.count else { return "the end" }
    let lines = bytes[..<offset].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return "line \(lines.count), column \(lines[lines.count - 1].count + 1)"
  }

  var description: String {
    guard offset < bytes.count else {
      return bytes.isEmpty ? "the file is empty" : "it ends too early; is a quotation mark, } or ] missing?"
    }
    return "\(place): \(found) is unexpected\(guess)"
  }

  /// What stands there. A file may hold a secret: one character says enough.
  private var found: String {
    let byte = bytes[offset]
    return (0x21...0x7e).contains(byte) ? "'\(Character(UnicodeScalar(byte)))'" : "the byte \(byte)"
  }

  /// What people forget most often.
  private var guess: String {
    let byte = bytes[offset]
    let before = bytes[..<offset].last { $0 > 0x20 }
    switch (before, byte) {
    case (UInt8(ascii: ","), UInt8(ascii: "}")), (UInt8(ascii: ","), UInt8(ascii: "]")):
      return "; drop the comma before it"
    case (UInt8(ascii: ","), UInt8(ascii: ",")): return "; one comma is enough"
    case (.some(let last), UInt8(ascii: "\"")) where Self.endsValue(last): return "; is a comma missing before it?"
    case (_, UInt8(ascii: "/")), (_, UInt8(ascii: "#")): return "; JSON has no comments"
    case (_, UInt8(ascii: "'")): return "; a text stands in double quotation marks"
    default: return ""
    }
  }

  /// Whether a value may end with a byte: with a quotation mark, a bracket, a digit, or a letter of `true` and `null`.
  private static func endsValue(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
      || byte.isASCIILetterOrDigit
  }
}
