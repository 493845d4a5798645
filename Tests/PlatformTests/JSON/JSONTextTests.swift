import Formats
import Foundation
import JSON
import Testing

/// The reader of JSON accepts RFC 8259 and nothing else, and reads the same values as Foundation.
struct JSONTextTests {
  @Test(arguments: [
    "", " ", "{", "}", "[1,]", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "{1:1}", "[1 2]", "[,1]", "nul", "truth", "1 2",
    "01", "+1", ".5", "1.", "1e", "1e+", "-", "0x10", "NaN", "Infinity", "'a'", "\"", "\"\\", "\"\\x\"", "\"\\u12\"",
    "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\nb\"", "\"\u{1}\"", "\u{feff}{}", "{}\u{0}", "[\"a\"",
    String(repeating: "[", count: 129) + String(repeating: "]", count: 129), "1e400", "[-1e999]",
    String(repeating: "9", count: 400),
  ])
  func `what RFC 8259 does not allow is refused`(text: String) {
    #expect(throws: JSONSyntaxError.self) { try JSONText(Array(text.utf8)) }
  }

  @Test(arguments: [
    [0x22, 0xff, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xe2, 0x82, 0x22],
  ])
  func `invalid UTF-8 is refused`(bytes: [UInt8]) {
    #expect(throws: JSONSyntaxError.self) { try JSONText(bytes) }
  }

  @Test(arguments: [
    "null", " true ", "[]", "{}", "[[],{},[{}]]", "0", "-0", "-9223372036854775808", "9223372036854775807",
    "9223372036854775808", "1.5", "-1e-3", "12E+2", "1e308", "\"\"", "\"ä€𝄞\"",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\u20AC\\uD834\\uDD1E\\u0000\"",
    "{\"a\":{\"b\":[1,\"x\",null,{\"c\":false}]},\"\":1,\"\\u0061b\":2, \"ä\" : [ 1 , 2 ] }",
    String(repeating: "[", count: 128) + String(repeating: "]", count: 128),
  ])
  func `values are those that Foundation reads`(text: String) throws {
    let expected = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    let found = try? JSONText(Array(text.utf8), limits: .own).decoded(as: JSONValue.self)
    #expect(found == expected)
    #expect(found != nil)
  }

  struct Record: Decodable, Equatable {
    struct Inner: Decodable, Equatable {
      var list: [Int32]
      var flag: Bool?
    }
    var first: String?
    var number: Int64?
    var inner: Inner?
    var price: Double?
    var small: Int8?
    var map: [String: UInt16]?
    var last: String
  }

  /// Keys with escapes, keys that share a place in the table of keys, and objects at the table's limit.
  @Test(arguments: [
    #"{"la\u0073t":"found"}"#,
    #"{"prxce":1.5,"price":2.5,"last":"found"}"#, #"{"price":2.5,"prxce":1.5,"last":"found"}"#,
    #"{"":1,"last":"found","lasu":2,"lbst":3}"#,
    #"{"lbst":3,"last":"found"}"#,
    #"{"lbst":3,"lcst":4,"la\u0073t":"found"}"#,
  ])
  func `a key is found among its like`(text: String) throws {
    let record = try JSONText(Array(text.utf8)).decoded(as: Record.self)
    #expect(record.last == "found")
    #expect(record.price == (text.contains("price") ? 2.5 : nil))
  }

  @Test(arguments: [1, 63, 64, 65, 66, 1000])
  func `a key is found among many`(count: Int) throws {
    let others = (1..<count).map { "\"member \($0)\":\($0)" }
    for members in [others + [#""last":"found""#], [#""last":"found""#] + others] {
      let text = Array("{\(members.joined(separator: ","))}".utf8)
      let record = try JSONText(text, limits: .own).decoded(as: Record.self)
      #expect(record == Record(last: "found"))
    }
  }

  /// The Kelvin sign equals a K as a `String`, but not as a key.
  @Test(arguments: [1, 100]) func `a key is its bytes`(count: Int) throws {
    let others = (0..<count).map { "\"member \($0)\":0" }.joined(separator: ",")
    let text = "{\"\u{212A}ey\":1,\(others),\"Key\":2}"
    #expect(try JSONText(Array(text.utf8)).decoded(as: Keyed.self).value == 2)
  }

  private struct Keyed: Decodable {
    enum CodingKeys: String, CodingKey { case value = "Key" }
    let value: Int
  }

  @Test(arguments: [
    (#"{"a":1,"a":1}"#, 8), (#"{"a":1,"\u0061":2}"#, 8), (#"{"\u0061":1,"a":2}"#, 13),
    (#"{"\u0061":1,"\u0061":2}"#, 13), (#"{"b":1,"":1,"":2}"#, 13), (#"[{},{"x":{"y":{"c":1,"b":2,"c":3}}}]"#, 28),
    (#"{"a":{"a":1},"b":[{"a":1},{"a":2}],"\/":1,"/":2}"#, 43), ("{\"ä\":1,\"\\u00e4\":2}", 9),
  ])
  func `a repeated member is refused`(text: String, offset: Int) {
    let error = #expect(throws: JSONSyntaxError.self) { try JSONText(Array(text.utf8)) }
    #expect(error?.offset == offset && error?.repeatedMember != nil, "\(String(describing: error))")
  }

  @Test(arguments: [2, 63, 64, 65, 66, 20_000]) func `a repeated member is found among many`(count: Int) {
    let members = (1..<count).map { "\"member \($0)\":\($0)" }
    for repeated in [1, count / 2, count - 1] {
      let text = "{\((members + ["\"member \(repeated)\":0"]).joined(separator: ","))}"
      let error = #expect(throws: JSONSyntaxError.self) { try JSONText(Array(text.utf8), limits: .own) }
      #expect(error?.repeatedMember == "member \(repeated)")
    }
  }

  /// A member of another object is not the same member. A member that only looks alike is not the same either.
  @Test(arguments: [#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#, "{\"K\":1,\"\u{212A}\":2}", "{\"é\":1,\"e\u{301}\":2}"])
  func `members of other names and objects are no repetition`(text: String) throws {
    guard case .object(let members) = try JSONText(Array(text.utf8)).decoded(as: JSONValue.self) else {
      throw CancellationError()
    }
    #expect(members.count == 2)
    #expect(try JSONText(Array(text.utf8)).decoded(as: [ExactText: JSONValue].self).count == 2)
  }

  @Test func `members are found in any order`() throws {
    let text = """
      {"last":"z","x":[1,{"first":"no"}],"map":{"a":1,"b":65535},"small":-128,"price":1,"number":3.0,
       "inner":{"list":[1,2,3],"flag":null},"first":"one"}
      """
    let record = try JSONText(Array(text.utf8)).decoded(as: Record.self)
    #expect(
      record
        == Record(
          first: "one", number: 3, inner: Record.Inner(list: [1, 2, 3], flag: nil), price: 1, small: -128,
          map: ["a": 1, "b": 65535], last: "z"))
    #expect(
      try JSONText(Array(text.utf8)).keys
        == ["last", "x", "map", "small", "price", "number", "inner", "first"])
  }

  /// An object that an attacker could build, so that each key takes longer to find than the one before.
  @Test func `a big object is decoded by its keys as a small one is`() throws {
    let members = (0..<20_000).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
    let text = "{\(members),\"last\":\"z\"}"
    let numbers = try JSONText(Array("{\(members)}".utf8), limits: .own).decoded(as: [String: Int].self)
    #expect(numbers.count == 20_000 && numbers["k7"] == 7 && numbers["k19999"] == 19_999)
    let document = try JSONText(Array(text.utf8), limits: .own)
    #expect(try document.decoded(as: Record.self).last == "z")
    guard case .object(let object) = try document.decoded(as: JSONValue.self) else { throw CancellationError() }
    #expect(object.count == 20_001 && object["k7"] == .integer(7))
  }

  @Test(arguments: [
    ("{\"last\":1}", "last"), ("{\"last\":\"\",\"inner\":{\"list\":[1,2.5]}}", "inner.list.1"),
    ("{\"last\":\"\",\"inner\":{}}", "inner"), ("{\"last\":\"\",\"small\":128}", "small"),
    ("{\"last\":\"\",\"number\":9223372036854775808}", "number"), ("{\"last\":\"\",\"map\":{\"k\":-1}}", "map.k"),
    ("{\"last\":\"\",\"inner\":[]}", "inner"), ("{\"last\":\"\",\"inner\":{\"list\":{}}}", "inner.list"),
    ("{}", ""), ("[]", ""), ("\"text\"", ""), ("{\"last\":null}", "last"),
  ])
  func `an error tells the path of the value`(text: String, path: String) throws {
    let document = try JSONText(Array(text.utf8))
    do {
      _ = try document.decoded(as: Record.self)
      Issue.record("decoded")
    } catch let error as DecodingError {
      let context: DecodingError.Context
      switch error {
      case .typeMismatch(_, let it), .valueNotFound(_, let it), .keyNotFound(_, let it), .dataCorrupted(let it):
        context = it
      @unknown default: return
      }
      #expect(context.codingPath.map(\.stringValue).joined(separator: ".") == path)
    }
  }

  /// Every text that differs from a good one in one byte. Both readers must agree on whether it is JSON and on its
  /// value.
  @Test func `a changed byte is judged as Foundation judges it`() throws {
    let good = Array("{\"a\":[1,-2.5e1,\"x\\n\\u0041\",true,null],\"b\":{\"c\":\"d\"}}".utf8)
    var differences: [String] = []
    for position in good.indices {
      for byte in Array("{}[]\",:\\0129eE+-.tfnu \u{7}".utf8) {
        var changed = good
        changed[position] = byte
        let expected = try? JSONDecoder().decode(JSONValue.self, from: Data(changed))
        let found = try? JSONText(changed).decoded(as: JSONValue.self)
        if expected != found { differences.append(String(decoding: changed, as: UTF8.self)) }
      }
    }
    #expect(differences == [])
  }

  @Test func `values are equal if their texts have the same bytes`() {
    let values: [JSONValue] = [
      .null, .bool(true), .bool(false), .integer(1), .number(1.5), .string("K"), .string("\u{212A}"), .string("1"),
      .array([.string("K")]), .array([.string("\u{212A}")]), .array([]), .object([:]), .object(["a": .string("K")]),
      .object(["a": .string("\u{212A}")]), .object(["b": .string("K")]),
    ]
    for (place, value) in values.enumerated() {
      for (other, another) in values.enumerated() { #expect((value == another) == (place == other)) }
    }
    #expect(Set(values).count == values.count)
  }
}
