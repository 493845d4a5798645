import FoundationEssentials
import JSON
import Testing

/// Every reader reads back what the writer wrote.
struct JSONWriterTests {
  @Test func shape() {
    let text = JSONWriter.object { writer in
      writer.member("empty") { _ in }
      writer.member("inner") { inner in
        inner.member("left", nil as String?)
        inner.member("number", Int64.min)
        inner.member("flag", false)
      }
      writer.member("last", "x")
    }
    #expect(
      String(decoding: text, as: UTF8.self)
        == #"{"empty":{},"inner":{"number":-9223372036854775808,"flag":false},"last":"x"}"#)
    #expect(JSONWriter.object { _ in } == Array("{}".utf8))
  }

  @Test func `names that are known at run time`() {
    let one = JSONWriter.array([JSONWriter.text("x"), JSONWriter.null])
    let text = JSONWriter.object([("a\"b", one), ("c", JSONWriter.array([]))])
    #expect(String(decoding: text, as: UTF8.self) == #"{"a\"b":["x",null],"c":[]}"#)
    #expect(JSONWriter.object([(String, [UInt8])]()) == Array("{}".utf8))
  }

  @Test(arguments: [
    ("abc", 3, "abc"), ("abc", 2, "ab"), ("abc", 0, ""), ("a\"b", 3, "a\""), ("a\"b", 2, "a"), ("a\\b", 4, "a\\b"),
    ("\u{1}x", 5, ""), ("\u{1}x", 6, "\u{1}"), ("\n\t\r", 5, "\n\t"), ("é€😀", 8, "é€"), ("é€😀", 9, "é€😀"),
    ("e\u{301}", 2, "e"),
  ])
  func `the beginning of a text that fits as JSON`(text: String, most: Int, beginning: String) {
    let found = JSONWriter.beginning(of: text, upTo: most)
    #expect(Array(found.utf8) == Array(beginning.utf8))
    #expect(JSONWriter.text(found).count - 2 <= most)
  }

  @Test func texts() throws {
    struct Read: Decodable { let text: String }
    let everyASCII = String(decoding: (0..<128).map { UInt8($0) }, as: UTF8.self)
    for text in ["", "a", "\"", "\\", "a\"b\\c\nd", everyASCII, "ä€😀\u{2028}", "\u{0}", "/"] {
      let written = JSONWriter.object { $0.member("text", text) }
      #expect(try JSONDecoder().decode(Read.self, from: Data(written)).text == text)
      #expect(try JSONText(written).decoded(as: Read.self).text == text)
    }
  }

  @Test(arguments: [
    ("null", "null"), ("true", "true"), ("false", "false"), ("-12", "-12"), (" 1.5", "1.5"), ("1e30", "1e+30"),
    ("1.0", "1"), ("\"a\\u0041\\n\"", #""aA\n""#), ("[ ]", "[]"), ("[1, [2]]", "[1,[2]]"), ("{ }", "{}"),
    (#"{"b": 1, "a": {"d": null, "c": []}}"#, #"{"a":{"c":[],"d":null},"b":1}"#),
  ])
  func `a value has one form`(text: String, expected: String) throws {
    let value = try JSONText(Array(text.utf8)).decoded(as: JSONValue.self)
    #expect(String(decoding: value.json, as: UTF8.self) == expected)
    #expect(try JSONText(value.json).decoded(as: JSONValue.self) == value)
  }
}
