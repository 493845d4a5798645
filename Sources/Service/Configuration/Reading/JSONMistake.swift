import Formats
import JSON

/// Says where a text stops being JSON, what stands there, and what may be missing.
///
/// `line 3, column 2: '"' is unexpected; is a comma missing before it?`
struct JSONMistake: CustomStringConvertible {
  let bytes: [UInt8]
  let offset: Int
  private let isSecret: Bool
  private let excess: JSONLimits.Excess?

  /// - Parameters:
  ///   - offset: the first byte that no JSON has there; the text's length if it ends too early.
  ///   - isSecret: whether the text may hold a secret at any place. Then the description has no byte of it.
  init(at offset: Int, in bytes: [UInt8], isSecret: Bool = false, excess: JSONLimits.Excess? = nil) {
    self.bytes = bytes
    self.isSecret = isSecret
    self.excess = excess
    let offset = min(max(0, offset), bytes.count)
    // The reader finds bytes that are not UTF-8 at the end, and does not say where they are.
    self.offset = offset == 0 ? Self.otherEncoding(in: bytes) ?? 0 : offset
  }

  /// The mistake that the reader of a text has found.
  init(_ error: JSONSyntaxError, in bytes: [UInt8], isSecret: Bool = false) {
    self.init(at: error.offset, in: bytes, isSecret: isSecret, excess: error.excess)
  }

  /// The line and the column that an editor shows; at the end of the text, its last line that is not empty.
  var place: String {
    guard offset < bytes.count else {
      let last = bytes.lastIndex { $0 > 0x20 } ?? 0
      return "line \(Self.line(of: last, in: bytes).number), the end of the file"
    }
    return Self.place(of: offset, in: bytes)
  }

  var description: String {
    if let excess { return "\(excess), at \(place)" }
    if bytes.starts(with: [0xef, 0xbb, 0xbf]), offset == 0 {
      return "it begins with a byte order mark; save it as UTF-8 without a byte order mark"
    }
    if bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff]) {
      return "it is in UTF-16; save it as UTF-8 without a byte order mark"
    }
    if bytes.allSatisfy({ $0 <= 0x20 }) { return "it is empty" }
    guard offset < bytes.count else { return "\(place): \(missingEnd)" }
    if bytes[offset] >= 0x80, Self.otherEncoding(in: bytes) == offset {
      return "\(place): \(isSecret ? "a byte" : "the byte \(bytes[offset])") is not UTF-8; save the file as UTF-8"
    }
    return "\(place): \(found) is unexpected\(guess.map { "; \($0)" } ?? "")"
  }

  /// A place as an editor shows it.
  static func place(of offset: Int, in bytes: [UInt8]) -> String {
    let line = line(of: offset, in: bytes)
    return "line \(line.number), column \(offset - line.start + 1)"
  }

  private static func line(of offset: Int, in bytes: [UInt8]) -> (number: Int, start: Int) {
    let before = bytes.prefix(offset)
    let end = before.lastIndex(of: UInt8(ascii: "\n"))
    return (before.count { $0 == UInt8(ascii: "\n") } + 1, end.map { $0 + 1 } ?? 0)
  }

  /// The first byte that is not UTF-8; `nil` if all are.
  private static func otherEncoding(in bytes: [UInt8]) -> Int? {
    do throws(UTF8.ValidationError) {
      _ = try UTF8Span(validating: bytes.span)
      return nil
    } catch {
      return error.byteOffsets.lowerBound
    }
  }

  /// What stands there. A file may hold a secret: one character says enough.
  private var found: String {
    let byte = bytes[offset]
    if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { return "the end of the line" }
    if isSecret { return "a character" }
    return (0x21...0x7e).contains(byte) ? "'\(Character(UnicodeScalar(byte)))'" : "the byte \(byte)"
  }
}
