import Testing

@testable import Fleets

/// Tests see in logs and metrics what is there.
struct LineSearchTests {
  private static let cases: [(part: String, lines: [Substring])] = [
    ("two", ["one two", "two", "three\u{0} two"]), ("one", ["one two"]), ("three", ["three\u{0} two"]),
    ("four", ["four"]), ("five", []), ("two\nthree", []),
  ]

  @Test(arguments: cases)
  func linesWithAPart(part: String, expected: [Substring]) {
    let text = LineSearch(Array("one two\n\ntwo\nthree\u{0} two\nfour".utf8))
    #expect(text.lines(with: part) == expected)
  }

  @Test func allLines() {
    #expect(LineSearch(Array("a\n\nb\n".utf8)).all == ["a", "", "b"])
    #expect(LineSearch(Array("a".utf8)).all == ["a"])
    #expect(LineSearch([]).all.isEmpty)
  }
}
