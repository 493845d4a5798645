@testable import HTTPClient

/// The head of an answer, whose lines a webhook endpoint chooses.
enum AnswerHeads {
  static func run(_ input: [UInt8]) {
    // As libcurl does, a line with its end at a time. The whole input as one line is what no server can bring about.
    read(input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { $0 + [UInt8(ascii: "\n")] })
    read([input[...]])
  }

  private static func read(_ lines: [ArraySlice<UInt8>]) {
    var head = AnswerHead()
    for line in lines {
      let isTaken = line.withUnsafeBytes { head.take($0) }
      precondition(isTaken == !head.isTooLong, "a head ends when it is too long, and only then")
      guard isTaken else { break }
    }
    precondition(head.fields.count <= AnswerHead.maxBytes / 64, "more fields than a head may have")
    for (name, value) in head.fields {
      precondition(!name.utf8.contains(UInt8(ascii: ":")), "a name ends at the colon")
      precondition(!name.utf8.contains { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }, "no lower case")
      precondition(![value.utf8.first, value.utf8.last].contains { $0.map(isBlank) == true }, "blanks around a value")
    }
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
}
