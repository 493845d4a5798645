import Testing

@testable import Redis

/// Replies in any pieces.
struct ReplyReaderTests {
  private static let stream = Array(
    "+OK\r\n:-42\r\n$5\r\na\r\nb\0\r\n$-1\r\n*3\r\n:1\r\n*2\r\n$0\r\n\r\n-ERR inner\r\n*-1\r\n-ERR whole\r\n*0\r\n".utf8
  )

  private static let replies: [RESPValue] = [
    .text("OK"), .integer(-42), .text("a\r\nb\0"), .null,
    .array([.integer(1), .array([.text(""), .error("ERR inner")]), .null]), .error("ERR whole"), .array([]),
  ]

  private func read(_ bytes: [UInt8], cutAt cuts: [Int]) throws -> [RESPValue] {
    let reader = try #require(ReplyReader())
    var replies: [RESPValue] = []
    for (start, end) in zip([0] + cuts, cuts + [bytes.count]) {
      try bytes[start..<end].withUnsafeBytes { try reader.feed($0) }
      while let reply = try reader.next() { replies.append(reply) }
    }
    return replies
  }

  @Test func `replies may come in two pieces, cut anywhere`() throws {
    for cut in 0...Self.stream.count {
      #expect(try read(Self.stream, cutAt: [cut]) == Self.replies, "cut at \(cut)")
    }
  }

  @Test func `replies may come byte by byte`() throws {
    #expect(try read(Self.stream, cutAt: Array(1..<Self.stream.count)) == Self.replies)
  }

  @Test func `a long text comes whole`() throws {
    let text = String(repeating: "x", count: 100_000)
    let bytes = Array("$100000\r\n\(text)\r\n".utf8)
    #expect(try read(bytes, cutAt: Array(stride(from: 7, to: bytes.count, by: 4099))) == [.text(text)])
  }

  @Test func `other bytes are a defect`() {
    let error = #expect(throws: ReplyReader.Defect.self) { try read(Array("HTTP/1.1 400\r\n".utf8), cutAt: []) }
    #expect(error?.cause.contains("Protocol error") == true)
  }

  /// hiredis has memory for all elements before the first of them comes: 16 GB for the first of these lines.
  @Test(arguments: ["*2000000000\r\n", "*1000001\r\n", "*1\r\n*2147483647\r\n", "*2\r\n*0\r\n*999999\r\n"])
  func `an array of too many elements is a defect before it has memory`(_ line: String) {
    let error = #expect(throws: ReplyReader.Defect.self) { try read(Array(line.utf8), cutAt: []) }
    #expect(error?.cause == "Out of memory, or a reply of more than 1000000 elements")
  }

  @Test func `the limits begin anew with each reply`() throws {
    let bytes = Array("*600000\r\n\(String(repeating: ":1\r\n", count: 600_000))".utf8)
    for reply in try read(bytes + bytes + bytes, cutAt: [bytes.count, 2 * bytes.count]) {
      guard case .array(let elements) = reply else { throw ReplyReader.Defect(cause: "\(reply)") }
      #expect(elements.count == 600_000)
    }
  }

  /// hiredis takes each element out of its buffer, and keeps what it made of it.
  @Test func `an array whose elements do not end is a defect`() throws {
    let reader = try #require(ReplyReader())
    func feed(_ text: String) throws {
      try Array(text.utf8).withUnsafeBytes { try reader.feed($0) }
      #expect(try reader.next() == nil)
    }
    try feed("*1000000\r\n")
    let element = "$1048576\r\n\(String(repeating: "x", count: 1 << 20))\r\n"
    for _ in 1..<64 { try feed(element) }
    #expect(throws: ReplyReader.Defect.self) { try feed(element) }
  }

  @Test func `a reply that does not end is a defect`() throws {
    let reader = try #require(ReplyReader())
    func feed(_ bytes: [UInt8]) throws {
      try bytes.withUnsafeBytes { try reader.feed($0) }
      #expect(try reader.next() == nil)
    }
    try feed(Array("$9000000000000000000\r\n".utf8))
    let mebibyte = [UInt8](repeating: 0x78, count: 1 << 20)
    for _ in 1..<64 { try feed(mebibyte) }
    #expect(throws: ReplyReader.Defect.self) { try feed(mebibyte) }
  }
}
