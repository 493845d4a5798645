import JSON
import Testing

@testable import Configuration

@Suite struct JSONMistakeTests {
  /// What the reader of a text says about its mistake; `nil` if it has none.
  private func mistake(in bytes: [UInt8]) -> String? {
    do throws(JSONSyntaxError) {
      _ = try JSONText(bytes, limits: .own)
      return nil
    } catch {
      return "\(JSONMistake(error, in: bytes))"
    }
  }

  private static let quoted = "put names and texts in double quotation marks (\")"
  private static let text = "if it is a text, put it in double quotation marks (\")"

  @Test(arguments: [
    ("{\"a\": 1,, }", "line 1, column 9: ',' is unexpected; one comma is enough"),
    ("[1,, 2]", "line 1, column 4: ',' is unexpected; one comma is enough"),
    ("{\n \"a\": 1\n \"b\": 2}", "line 3, column 2: '\"' is unexpected; is a comma missing before it?"),
    ("[1 2]", "line 1, column 4: '2' is unexpected; is a comma missing before it?"),
    ("{\"a\": true {}}", "line 1, column 12: '{' is unexpected; is a comma missing before it?"),
    ("{\"a\": [1, ]}", "line 1, column 11: ']' is unexpected; drop the comma before it"),
    ("{\"a\": 1,\n}", "line 2, column 1: '}' is unexpected; drop the comma before it"),
    ("{,}", "line 1, column 2: ',' is unexpected; is a member missing before it?"),
    ("{: 1}", "line 1, column 2: ':' is unexpected; is a name missing before it?"),
    ("{]", "line 1, column 2: ']' is unexpected"),
    ("{\"a\": 1]", "line 1, column 8: ']' is unexpected; the '{' of line 1, column 1 needs a '}'"),
    ("{\"a\": 1; \"b\": 2}", "line 1, column 8: ';' is unexpected; write a comma in its place"),
    ("{} {}", "line 1, column 4: '{' is unexpected; the JSON has ended before it"),
  ])
  func `a mistake at a comma or a bracket says what may help`(text: String, says: String) {
    #expect(mistake(in: Array(text.utf8)) == says)
  }

  @Test(arguments: [
    ("{ // all\n}", "line 1, column 3: '/' is unexpected; JSON has no comments"),
    ("{'a': 1}", "line 1, column 2: ''' is unexpected; \(quoted)"),
    ("{\u{201c}a\u{201d}: 1}", "line 1, column 2: the byte 226 is unexpected; \(quoted)"),
    ("{redis: {}}", "line 1, column 2: 'r' is unexpected; \(quoted)"),
    ("{\"a\": \u{7}}", "line 1, column 7: the byte 7 is unexpected"),
    ("{\"redis\" {\"url\": 1}}", "line 1, column 10: '{' is unexpected; is a colon missing before it?"),
    ("{\"a\" \"b\"}", "line 1, column 6: '\"' is unexpected; is a colon missing before it?"),
    ("{\"a\" = 1}", "line 1, column 6: '=' is unexpected; write a colon in its place"),
    ("{\"a\", \"b\"}", "line 1, column 5: ',' is unexpected; a colon and a value are missing before it"),
    ("{\"a b\" c: 1}", "line 1, column 8: 'c' is unexpected; is a colon or a quotation mark missing before it?"),
    ("{\"a\": }", "line 1, column 7: '}' is unexpected; is a value missing before it?"),
    ("{\"a\": , \"b\": 1}", "line 1, column 7: ',' is unexpected; is a value missing before it?"),
  ])
  func `a mistake at a name or a value says what may help`(text: String, says: String) {
    #expect(mistake(in: Array(text.utf8)) == says)
  }

  @Test(arguments: [
    ("True", 7, "T", "write true, false or null in small letters"),
    ("NULL", 7, "N", "write true, false or null in small letters"),
    ("tRUE", 8, "R", "write true, false or null in small letters"),
    ("None", 7, "N", "JSON has only the words true, false and null"),
    ("nil", 8, "i", "JSON has only the words true, false and null"),
    ("x", 7, "x", text), ("localhost:5432", 7, "l", text), ("1.2.3", 10, ".", text),
  ])
  func `a wrong word says what is expected`(value: String, column: Int, found: String, guess: String) {
    #expect(
      mistake(in: Array("{\"a\": \(value)}".utf8)) == "line 1, column \(column): '\(found)' is unexpected; \(guess)")
  }

  @Test(arguments: [
    ("025", 8, "2", "a number must not begin with 0; \(text)"),
    ("-01", 9, "1", "a number must not begin with 0; \(text)"),
    ("+5", 7, "+", "a number has no + before it"), (".5", 7, ".", "a number begins with a digit, such as 0.5"),
    ("5.", 9, "}", "a digit is missing behind the point"), ("30s", 9, "s", "a number has only digits; \(text)"),
    ("1_000", 8, "_", "a number has only digits; \(text)"), ("0x1F", 8, "x", "a number has only digits; \(text)"),
    ("1e999", 7, "1", "the number is too large, or not complete"),
    ("1e", 9, "}", "the number is too large, or not complete"),
  ])
  func `a wrong number says what is expected`(value: String, column: Int, found: String, guess: String) {
    #expect(
      mistake(in: Array("{\"a\": \(value)}".utf8)) == "line 1, column \(column): '\(found)' is unexpected; \(guess)")
  }

  @Test(arguments: [
    (
      "{\"a\": \"b,\n\"c\": 1}",
      "line 1, column 10: the end of the line is unexpected; is a quotation mark missing before it?"
    ), (#"{"a": "C:\dir"}"#, #"line 1, column 11: 'd' is unexpected; write a backslash in a text as \\"#),
    ("{\"a\": \"b\tc\"}", #"line 1, column 9: the byte 9 is unexpected; write a tab in a text as \t"#),
  ])
  func `a broken text says how it is written`(text: String, says: String) {
    #expect(mistake(in: Array(text.utf8)) == says)
  }

  @Test(arguments: [
    ("{\"a\": 1", "line 1, the end of the file: the '{' of line 1, column 1 has no '}'"),
    ("{\n  \"a\": [1,\n  2\n\n\n", "line 3, the end of the file: the '[' of line 2, column 8 has no ']'"),
    ("{\n\"a\": \"b", "line 2, the end of the file: is a quotation mark missing?"),
    ("tru", "line 1, the end of the file: a value is not complete"), ("", "it is empty"), (" \n", "it is empty"),
  ])
  func `a file that was cut says where it ends`(text: String, says: String) {
    #expect(mistake(in: Array(text.utf8)) == says)
  }

  @Test func `another encoding is named`() {
    let beginning = "it begins with a byte order mark; save it as UTF-8 without a byte order mark"
    #expect(mistake(in: [0xef, 0xbb, 0xbf] + Array("{}".utf8)) == beginning)
    let wide = "it is in UTF-16; save it as UTF-8 without a byte order mark"
    #expect(mistake(in: [0xff, 0xfe, 0x7b, 0]) == wide)
    #expect(mistake(in: [0xfe, 0xff, 0, 0x7b]) == wide)
    let latin1 = Array("{\n\"a\": \"caf".utf8) + [0xe9] + Array("\"}".utf8)
    #expect(mistake(in: latin1) == "line 2, column 10: the byte 233 is not UTF-8; save the file as UTF-8")
  }

  @Test(arguments: ["{\"a\": Zx}", "{\"a\": \"\u{1}\"}", "{\"a\" Z}", "[Z", "{\"a\": \"Z\n"])
  func `nothing of a secret file is shown`(text: String) throws {
    let bytes = Array(text.utf8)
    let error = try #require(throws: JSONSyntaxError.self) { try JSONText(bytes, limits: .own) }
    let mistake = "\(JSONMistake(error, in: bytes, isSecret: true))"
    #expect(!mistake.contains("Z") && !mistake.contains("byte 1"), "\(mistake)")
  }

  @Test func `too much JSON says what is too much, and where`() {
    let found = mistake(in: Array(String(repeating: "[", count: 2000).utf8))
    #expect(found?.contains(", at line 1, column ") == true, "\(found ?? "")")
  }

  @Test(arguments: [-1, 3, .max, .min]) func `an offset outside the text is its start or its end`(offset: Int) {
    let mistake = JSONMistake(at: offset, in: [0x7b, 0x22])
    #expect(mistake.place == (offset < 0 ? "line 1, column 1" : "line 1, the end of the file"))
    #expect("\(mistake)".hasPrefix(mistake.place))
  }

  /// The guess goes over the same bytes as the scanner.
  @Test func `no cut of a file, and no other byte in it, traps`() {
    let file = Array(#"{"a": [1, -2.5e3, true, null, "x\"\u00e9"], "b": {"c": "é"}}"#.utf8)
    for end in file.indices {
      for byte in [UInt8(0), 0x0a, 0x22, 0x27, 0x2c, 0x2d, 0x2e, 0x5c, 0x5d, 0x7a, 0x7d, 0xe2, 0xff] {
        for bytes in [Array(file.prefix(end)), Array(file.prefix(end)) + [byte] + Array(file.dropFirst(end + 1))] {
          let found = mistake(in: bytes)
          #expect(found?.isEmpty != true)
        }
      }
    }
  }
}
