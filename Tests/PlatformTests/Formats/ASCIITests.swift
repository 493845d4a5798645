import Formats
import Testing

struct ASCIITests {
  @Test func classesOfAllBytes() {
    let digits = Array("0123456789".utf8)
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    #expect((0...255).filter(\.isASCIIDigit) == digits)
    #expect((0...255).filter(\.isASCIILetter) == letters)
    #expect((0...255).filter(\.isLowercaseHexDigit) == digits + Array("abcdef".utf8))
    #expect(Set((0...255).filter(\.isUnreserved)) == Set(digits + letters + Array("-._~".utf8)))
  }

  @Test func digitsOfOtherScriptsDoNotCount() {
    #expect("0123".isASCIIDigits())
    for text in ["", "１", "٣", "1 ", "+1", "1\n"] { #expect(!text.isASCIIDigits()) }
    #expect("12".isASCIIDigits(1...2) && !"123".isASCIIDigits(1...2))
  }
}
