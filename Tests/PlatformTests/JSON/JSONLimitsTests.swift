import Formats
import JSON
import Testing

/// A text that has more than its reader takes is refused by the scanner, at the limit and not before.
struct JSONLimitsTests {
  private static let limits = JSONLimits(depth: 3, members: 4, elements: 5, values: 12, nameBytes: 6)

  private func excess(_ text: String, _ limits: JSONLimits = Self.limits) -> JSONLimits.Excess? {
    do throws(JSONSyntaxError) {
      _ = try JSONText(Array(text.utf8), limits: limits)
      return nil
    } catch {
      #expect(error.repeatedMember == nil)
      return error.excess
    }
  }

  private func list(_ count: Int, _ element: String = "0") -> String {
    "[\(Array(repeating: element, count: count).joined(separator: ","))]"
  }

  private func object(_ count: Int) -> String {
    "{\((0..<count).map { "\"\($0)\":0" }.joined(separator: ","))}"
  }

  @Test func `each limit is reached, and not exceeded`() {
    #expect(excess("[[[0]]]") == nil)
    #expect(excess("[[[[0]]]]") == .depth(3))
    #expect(excess(#"{"a":{"b":{"c":{}}}}"#) == .depth(3))
    #expect(excess(object(4)) == nil)
    #expect(excess(object(5)) == .members(4))
    #expect(excess(list(5)) == nil)
    #expect(excess(list(6)) == .elements(5))
    // A list, three lists in it, and their elements.
    #expect(excess("[\(list(4)),\(list(4)),0]") == nil)
    #expect(excess("[\(list(4)),\(list(4)),0,0]") == .values(12))
    #expect(excess(#"{"abcdef":0}"#) == nil)
    #expect(excess(#"{"abcdefg":0}"#) == .nameBytes(6))
    // As the text writes it.
    #expect(excess(#"{"\u0061":0}"#) == nil)
    #expect(excess(#"{"\u0061b":0}"#) == .nameBytes(6))
  }

  /// Each object and each list has its own count.
  @Test func `what stands beside it counts for itself`() {
    let limits = JSONLimits(depth: 3, members: 4, elements: 5, values: 99, nameBytes: 6)
    #expect(excess("{\"a\":\(object(4)),\"b\":0}", limits) == nil)
    #expect(excess("{\"a\":\(object(5)),\"b\":0}", limits) == .members(4))
    #expect(excess("[\(list(5)),\(list(3))]", limits) == nil)
  }

  @Test func `a number that no program writes is refused`() {
    #expect(excess("1." + String(repeating: "0", count: 62)) == nil)
    #expect(excess("1." + String(repeating: "0", count: 63)) == .numberBytes(64))
  }

  @Test func `a text tells which limit it exceeds`() {
    let error = #expect(throws: JSONSyntaxError.self) { try JSONText(Array(list(6).utf8), limits: Self.limits) }
    #expect(error?.description == "too much JSON: an array with more than 5 elements, at byte 11")
  }

  /// The bodies with which a stranger held a loop.
  @Test func `nobody says how much, and a stranger's body is refused`() {
    #expect(excess(list(240_000, "{}"), .outside) == .elements(256))
    let escaped = (0..<110_000).map { "\"\\u0061\($0)\":1" }.joined(separator: ",")
    #expect(excess("{\(escaped)}", .outside) == .members(128))
    #expect(excess(list(200, list(200)), .outside) == .values(4096))
    #expect(throws: JSONSyntaxError.self) { try JSONText(Array(list(240_000).utf8)) }
    #expect(excess(list(240_000), .own) == nil)
    #expect(excess(list(250_001), .own) == .values(250_000))
  }

  /// Keys that share their length and their first and last byte share a bit of the check's filter.
  @Test(arguments: [9, 10, 64, 127, 128]) func `a repetition is found among keys of one hash`(count: Int) {
    let keys = (0..<count).map { number in "\"a\(String(repeating: "0", count: 3 - String(number).count))\(number)z\":0"
    }
    #expect(excess("{\(keys.joined(separator: ","))}", .outside) == nil)
    let error = #expect(throws: JSONSyntaxError.self) {
      try JSONText(Array("{\((keys + [keys[count / 2]]).joined(separator: ","))}".utf8), limits: .own)
    }
    #expect(error?.repeatedMember == keys[count / 2].dropFirst().dropLast(3).description)
  }

  /// Every escape, at the beginning, in the middle and at the end of a text.
  @Test func `escapes are read`() throws {
    let escapes: [(String, String)] = [
      (#"\""#, "\""), (#"\\"#, "\\"), (#"\/"#, "/"), (#"\b"#, "\u{8}"), (#"\f"#, "\u{c}"), (#"\n"#, "\n"),
      (#"\r"#, "\r"),
      (#"\t"#, "\t"), (#"\u0041"#, "A"), (#"\u00e9"#, "é"), (#"\u20AC"#, "€"), (#"\uD834\uDD1E"#, "𝄞"),
      (#"\u0000"#, "\0"),
    ]
    for (escape, character) in escapes {
      for (front, back) in [("", ""), ("ä", ""), ("", "b"), ("a", "€"), (escape, escape)] {
        let text: String = try JSONText(Array("\"\(front)\(escape)\(back)\"".utf8)).decoded()
        let around = front == escape ? (character, character) : (front, back)
        #expect(text.isExactly("\(around.0)\(character)\(around.1)"))
      }
    }
  }

  @Test func `an object in an object is read`() throws {
    let text = try JSONText(Array(#"{"a":{"b":{"c":"d"}},"n":null,"t":"x"}"#.utf8))
    let root = try JSONObject(text)
    #expect(try root.requiredObject("a").requiredObject("b").string("c") == "d")
    for wrong: StaticString in ["n", "z", "t"] {
      #expect(throws: DecodingError.self) { _ = try root.requiredObject(wrong).isNull("a") }
    }
    do {
      _ = try root.requiredObject("a").requiredObject("b").int64("c")
      Issue.record("read")
    } catch DecodingError.typeMismatch(_, let context) {
      #expect(context.codingPath.map(\.stringValue) == ["a", "b", "c"])
    }
  }
}
