import Testing

@testable import HTTPClient

struct AnswerHeadTests {
  /// Takes lines, and returns the fields as `name=value`, or nothing after one that is too long.
  private func fields(_ lines: [String]) -> [String]? { fields(lines.map { Array($0.utf8) }) }

  private func fields(_ lines: [[UInt8]]) -> [String]? {
    var head = AnswerHead()
    for line in lines {
      guard line.withUnsafeBytes({ head.take($0) }) else {
        #expect(head.isTooLong)
        return nil
      }
    }
    #expect(!head.isTooLong)
    return head.fields.map { "\($0.name)=\($0.value)" }
  }

  @Test func `names are in lower case, values without blanks around them, and the order stays`() {
    #expect(
      fields(["HTTP/2 200 \r\n", "Retry-After: 120\r\n", "B:\t\u{b}\u{c} x y \t\r\n", "a:\r\n", "a:1", ":2\n", "\r\n"])
        == ["retry-after=120", "b=x y", "a=", "a=1", "=2"])
  }

  @Test func `a line that is no field is passed over`() {
    #expect(fields(["", "\r\n", "no field\r\n", "\0"]) == [])
    #expect(fields(["a: b:c\r\n"]) == ["a=b:c"])
  }

  @Test func `what is not a text becomes some`() {
    #expect(fields([[0xff, 0x41, 0x3a, 0x20, 0xff, 0x20]]) == ["\u{fffd}a=\u{fffd}"])
  }

  @Test func `the fields of an interim answer are none of the answer's`() {
    #expect(fields(["HTTP/1.1 103 Early Hints\r\n", "Link: a\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "B: c"]) == ["b=c"])
  }

  @Test func `a head has 32 KiB at most, where each line counts 64 bytes more`() {
    let line = "a: " + String(repeating: "b", count: 1024 - 64 - 3)
    #expect(fields(Array(repeating: line, count: 32))?.count == 32)
    #expect(fields(Array(repeating: line, count: 32) + [""]) == nil)
    // Lines that are no field, and interim answers without an end, fill no memory but take time.
    #expect(fields(Array(repeating: "", count: 512)) == [])
    #expect(fields(Array(repeating: "", count: 513)) == nil)
    #expect(fields(Array(repeating: "HTTP/1.1 100 \r\n", count: 32 << 10)) == nil)
  }
}
