import Formats
import Testing

/// The limits of texts, in characters and in bytes.
struct TextLimitTests {
  @Test(arguments: ["a", "é", "€", "😀", "e\u{301}"]) func `a limit in characters counts Unicode scalars`(text: String) {
    let scalars = text.unicodeScalars.count
    for count in [0, 1, 3, 64] {
      let long = String(repeating: text, count: count)
      #expect(TextLimit.characters(count * scalars).admits(long))
      #expect(!TextLimit.characters(count * scalars).admits(long + "x"))
    }
  }

  @Test(arguments: ["a", "é", "€", "😀"]) func `a limit in bytes counts UTF-8`(text: String) {
    let bytes = text.utf8.count
    #expect(TextLimit.bytes(3 * bytes).admits(text + text + text))
    #expect(!TextLimit.bytes(3 * bytes - 1).admits(text + text + text))
  }

  @Test func `a limit says what it counts`() {
    #expect("\(TextLimit.characters(256))" == "at most 256 characters")
    #expect("\(TextLimit.bytes(8192))" == "at most 8192 bytes")
  }
}
