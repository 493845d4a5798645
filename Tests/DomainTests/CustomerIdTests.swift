import Domain
import Testing

/// Which texts name a customer, and which of them have a number on the wire.
struct CustomerIdTests {
  @Test(arguments: [
    "1", " ", "a|b/c", "é", "😀", String(repeating: "x", count: 256), String(repeating: "é", count: 128),
  ])
  func valid(text: String) {
    #expect(CustomerId(text).isValid)
  }

  @Test(arguments: [
    "", "\u{0}", "a\u{0}b", "\t", "a\r\n", "\u{1F}", "\u{7F}", "\u{80}", "\u{9F}", String(repeating: "x", count: 257),
    String(repeating: "é", count: 129), "erased:", "erased:0123",
  ])
  func invalid(text: String) {
    #expect(!CustomerId(text).isValid)
  }

  @Test(arguments: [("1", Int64(1)), ("42", 42), ("9223372036854775807", .max)])
  func `a canonical decimal is a number`(text: String, number: Int64) {
    #expect(CustomerId(text).number == number)
    #expect(CustomerId(number: number)?.text == text)
  }

  @Test(arguments: [
    "", "0", "00", "-1", "+1", "01", "1 ", " 1", "1.0", "1e3", "x", "１", "٣", "9223372036854775808",
    "99999999999999999999",
  ])
  func `any other text has no number`(text: String) {
    #expect(CustomerId(text).number == nil)
  }

  @Test(arguments: [
    ("Jo@Example.COM", "jo@example.com"), ("ÄÖ@x", "ÄÖ@x"), ("\u{212A}@[\\]", "\u{212A}@[\\]"), ("A`Z{", "a`z{"),
  ])
  func `an address is found whatever the case of its ASCII letters`(email: String, key: String) {
    #expect(Customer.emailKey(email).utf8.elementsEqual(key.utf8))
  }

  @Test(arguments: [0, -1, Int64.min]) func `a number below 1 names nobody`(number: Int64) {
    #expect(CustomerId(number: number) == nil)
  }
}
