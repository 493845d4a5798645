import Domain
import Testing

@testable import Ledger

/// The range of the ids that begin with a prefix.
struct CustomerPrefixTests {
  @Test func `the end is the next text of the same length or shorter`() {
    #expect(CustomerStore.end(ofPrefix: "ip:") == "ip;")
    #expect(CustomerStore.end(ofPrefix: "é") == "ê")
    #expect(CustomerStore.end(ofPrefix: "a\u{D7FF}") == "a\u{E000}")
    #expect(CustomerStore.end(ofPrefix: "a\u{10FFFF}\u{10FFFF}") == "b")
  }

  @Test(arguments: ["a", "ip:", "é", "\u{7F}", "\u{7FF}", "\u{D7FF}", "\u{FFFF}", "b\u{10FFFF}"])
  func `ids with the prefix are before the end, and the prefix's end is not`(prefix: String) {
    let end = Array(CustomerStore.end(ofPrefix: prefix).utf8)
    for rest in ["", "x", "\u{10FFFF}\u{10FFFF}"] {
      #expect(Array((prefix + rest).utf8).lexicographicallyPrecedes(end))
    }
    #expect(!String(decoding: end, as: UTF8.self).utf8.starts(with: prefix.utf8))
  }

  @Test func `without a prefix, the end is after each id`() {
    let greatest = CustomerId(String(repeating: "\u{10FFFF}", count: CustomerId.longest / 4))
    #expect(greatest.isValid)
    for prefix in ["", "\u{10FFFF}"] {
      let end = CustomerStore.end(ofPrefix: prefix)
      #expect(Array(greatest.text.utf8).lexicographicallyPrecedes(Array(end.utf8)), "\(prefix)")
    }
  }
}
