import Formats

/// What people forget most often.
extension JSONMistake {
  /// What is missing at the end of the text.
  var missingEnd: String {
    let context = JSONContext(bytes)
    if context.isInText { return "is a quotation mark missing?" }
    guard let open = context.open.last else { return "a value is not complete" }
    return "\(named(open)) has no '\(end(of: open))'"
  }

  private func named(_ open: (byte: UInt8, at: Int)) -> String {
    "the '\(Character(UnicodeScalar(open.byte)))' of \(Self.place(of: open.at, in: bytes))"
  }

  private func end(of open: (byte: UInt8, at: Int)) -> String { open.byte == UInt8(ascii: "{") ? "}" : "]" }

  /// What to do about the byte at the offset; `nil` if nobody knows.
  var guess: String? {
    let start = wordStart
    let context = JSONContext(bytes.prefix(start))
    if context.isInText { return guessInText }
    let byte = bytes[offset]
    if byte == UInt8(ascii: "/") || byte == UInt8(ascii: "#") { return "JSON has no comments" }
    if byte == UInt8(ascii: "'") || Self.curlyMarks.contains(where: { bytes.dropFirst(offset).starts(with: $0) }) {
      return "put names and texts in double quotation marks (\")"
    }
    let word = word(from: start)
    switch context.expectation {
    case .name: return guessOfName(byte, hasWord: !word.isEmpty)
    case .colon:
      if byte == UInt8(ascii: "}") || byte == UInt8(ascii: ",") { return "a colon and a value are missing before it" }
      if byte == UInt8(ascii: "=") { return "write a colon in its place" }
      return word.isEmpty ? "is a colon missing before it?" : "is a colon or a quotation mark missing before it?"
    case .value: return word.isEmpty ? guessOfValue(byte) : Self.guess(ofWord: word)
    case .separator:
      guard let open = context.open.last else { return "the JSON has ended before it" }
      if byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
        return "\(named(open)) needs a '\(end(of: open))'"
      }
      if byte == UInt8(ascii: ";") { return "write a comma in its place" }
      return byte == UInt8(ascii: ":") || byte == UInt8(ascii: "=") ? nil : "is a comma missing before it?"
    }
  }

  private var isBehindComma: Bool { bytes.prefix(offset).last { $0 > 0x20 } == UInt8(ascii: ",") }

  private func guessOfName(_ byte: UInt8, hasWord: Bool) -> String? {
    if hasWord { return "put names and texts in double quotation marks (\")" }
    switch byte {
    case UInt8(ascii: ","): return isBehindComma ? "one comma is enough" : "is a member missing before it?"
    case UInt8(ascii: "}"), UInt8(ascii: "]"): return isBehindComma ? "drop the comma before it" : nil
    case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): return "is a name missing before it?"
    default: return nil
    }
  }

  private func guessOfValue(_ byte: UInt8) -> String? {
    switch byte {
    case UInt8(ascii: ","): return isBehindComma ? "one comma is enough" : "is a value missing before it?"
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      return isBehindComma ? "drop the comma before it" : "is a value missing before it?"
    default: return nil
    }
  }

  /// A text ends on its line, and begins each special character with a backslash.
  private var guessInText: String? {
    let byte = bytes[offset]
    if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
      return "is a quotation mark missing before it?"
    }
    if bytes.prefix(offset).last == UInt8(ascii: "\\") { return "write a backslash in a text as \\\\" }
    return byte == UInt8(ascii: "\t") ? "write a tab in a text as \\t" : nil
  }

  // MARK: Words and numbers

  /// The quotation marks of word processors, in UTF-8.
  private static let curlyMarks: [[UInt8]] = [0x98, 0x99, 0x9a, 0x9c, 0x9d, 0x9e].map { [0xe2, 0x80, $0] }

  private static func isOfWord(_ byte: UInt8) -> Bool {
    byte.isASCIILetterOrDigit || "+-._".utf8.contains(byte)
  }

  /// Where the word at the offset begins: the reader may have found its mistake behind the first letters, as in `True`,
  /// or behind the last one, as in `5.`.
  private var wordStart: Int {
    let start = bytes.prefix(offset).lastIndex { !Self.isOfWord($0) }.map { $0 + 1 } ?? 0
    guard !Self.isOfWord(bytes[offset]) else { return start }
    let before = String(decoding: bytes.prefix(offset).dropFirst(start), as: UTF8.self)
    let isComplete = ["", "true", "false", "null"].contains(before) || before.last?.isNumber == true
    return isComplete ? offset : start
  }

  private func word(from start: Int) -> String {
    String(decoding: bytes.dropFirst(start).prefix(while: Self.isOfWord), as: UTF8.self)
  }

  /// What is wrong with a word in the place of a value. The guess does not repeat the word.
  private static func guess(ofWord word: String) -> String {
    let plain = word.lowercased()
    if ["true", "false", "null"].contains(plain) { return "write true, false or null in small letters" }
    if ["yes", "no", "on", "off", "none", "nil", "undefined"].contains(plain) {
      return "JSON has only the words true, false and null"
    }
    let digits = word.drop { $0 == "-" || $0 == "+" }
    guard digits.first?.isNumber == true || digits.first == "." else {
      return "if it is a text, put it in double quotation marks (\")"
    }
    if word.hasPrefix("+") { return "a number has no + before it" }
    if digits.hasPrefix(".") { return "a number begins with a digit, such as 0.5" }
    if word.hasSuffix(".") { return "a digit is missing behind the point" }
    if digits.hasPrefix("0"), digits.dropFirst().first?.isNumber == true {
      return "a number must not begin with 0; if it is a text, put it in double quotation marks (\")"
    }
    if digits.contains(where: { $0 == "_" || $0.isLetter && $0 != "e" && $0 != "E" }) {
      return "a number has only digits; if it is a text, put it in double quotation marks (\")"
    }
    return digits.allSatisfy { $0.isNumber || $0 == "." } && digits.count { $0 == "." } > 1
      ? "if it is a text, put it in double quotation marks (\")" : "the number is too large, or not complete"
  }
}
