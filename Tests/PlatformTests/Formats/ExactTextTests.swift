import Foundation
import Testing

@testable import Formats

/// Texts from outside are compared by their bytes, although Swift's `String` takes more texts for equal.
struct ExactTextTests {
  /// Each pair is equal as `String`.
  @Test(arguments: [("K", "\u{212A}"), ("é", "e\u{301}"), ("a;b", "a\u{37E}b"), ("`", "\u{1FEF}"), ("Å", "\u{212B}")])
  func `texts that only look alike differ`(one: String, other: String) {
    #expect(one == other)
    #expect(!one.isExactly(other))
    #expect(Set([ExactText(one), ExactText(other)]).count == 2)
    #expect([ExactText(one): 1][ExactText(other)] == nil)
    #expect((ExactText(one) < ExactText(other)) != (ExactText(other) < ExactText(one)))
  }

  @Test func `texts with the same bytes are equal`() {
    for text in ["", "a", "com.example.app", "e\u{301}", String(repeating: "é", count: 100)] {
      let other = String(decoding: Array(text.utf8), as: UTF8.self)
      #expect(text.isExactly(other))
      #expect([ExactText(text): 1][ExactText(other)] == 1)
      // A text from Foundation has another storage.
      #expect(text.isExactly(NSString(string: text) as String))
    }
    #expect(!"ab".isExactly("abc") && !"".isExactly("a") && ExactText("ab") < ExactText("abc"))
  }

  /// The rule in the comment of `ExactText`: which constants code may compare without it.
  @Test func `only three characters of ASCII have another spelling`() {
    let ascii = Set((UInt8(0)..<128).map { String(UnicodeScalar($0)) })
    let spelled = (UInt32(128)...0x10FFFF).compactMap(Unicode.Scalar.init).map { String(Character($0)) }
      .compactMap { text in ascii.firstIndex(of: text).map { ascii[$0] } }
    #expect(Set(spelled) == ["K", ";", "`"])
  }

  @Test func `it is a text in JSON, and the name of a member`() throws {
    let members: [ExactText: [ExactText]] = ["K": ["a"], "\u{212A}": ["b"]]
    let data = try JSONEncoder().encode(members["K"])
    #expect(String(decoding: data, as: UTF8.self) == #"["a"]"#)
    #expect(try JSONDecoder().decode([ExactText: Int].self, from: Data(#"{"x":1}"#.utf8)) == ["x": 1])
  }

  private struct Kind: ExactRawValue {
    let rawValue: String
  }

  @Test func `a name of an open set is its bytes`() {
    #expect(Kind(rawValue: "REVOKE") != Kind(rawValue: "REVO\u{212A}E"))
    #expect(Kind(rawValue: "REVOKE") == Kind(rawValue: "REVOKE"))
    #expect(Set([Kind(rawValue: "REVOKE"), Kind(rawValue: "REVO\u{212A}E")]).count == 2)
  }

  private struct Note: Equatable {
    @Exact var text: String?
  }

  @Test func `a type with an exact text needs no equality of its own`() {
    #expect(Note(text: "K") == Note(text: "K"))
    #expect(Note(text: "K") != Note(text: "\u{212A}"))
    #expect(Note(text: nil) == Note(text: nil))
    #expect(Note(text: nil) != Note(text: ""))
  }

  @Test func `texts of a list are found and repeated by their bytes`() {
    let names = ["K", "e\u{301}"]
    #expect(names.containsExactly("K") && names.containsExactly("e\u{301}"))
    #expect(!names.containsExactly("\u{212A}") && !names.containsExactly("é"))
    #expect(!["K", "\u{212A}"].hasRepetition && !([] as [String]).hasRepetition)
    #expect(["a", "K", "a"].hasRepetition)
  }
}
