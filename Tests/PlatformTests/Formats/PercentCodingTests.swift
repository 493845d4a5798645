import Formats
import Testing

struct PercentCodingTests {
  @Test(arguments: [
    ("", ""), ("a-Z.0_9~", "a-Z.0_9~"), ("a/b?c", "a%2Fb%3Fc"), ("ü", "%C3%BC"), ("\u{1}\u{7F}", "%01%7F"),
    ("100%", "100%25"),
  ])
  func encodedAndBack(text: String, encoded: String) {
    #expect(PercentCoding.encoded(text) == encoded)
    #expect(PercentCoding.decoded(encoded[...]) == text)
  }

  @Test func bothCasesOfHexDigits() {
    #expect(PercentCoding.decoded("%c3%bc%C3%bC") == "üü")
  }

  /// A sign or a control character beside a digit is no escape, and one byte of a two-byte character is not a text.
  @Test(arguments: ["%", "%4", "%+1", "%-1", "% 1", "%4\u{10}", "%\u{10}4", "%4g", "%4G", "%C3", "%FF"])
  func malformed(text: String) {
    #expect(PercentCoding.decoded(text[...]) == nil)
  }
}
