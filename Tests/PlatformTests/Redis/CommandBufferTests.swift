import Testing

@testable import Redis

struct CommandBufferTests {
  private func sent(_ buffer: inout CommandBuffer, atMost room: Int = .max) -> [UInt8] {
    var taken: [UInt8] = []
    buffer.send { bytes in
      let count = min(room - taken.count, bytes.count)
      taken += bytes.prefix(count)
      return count
    }
    return taken
  }

  @Test func `a command has its words with their lengths`() {
    var buffer = CommandBuffer()
    #expect(buffer.append(["SET", "ä", ""]) == 27)
    #expect(buffer.append([String(repeating: "x", count: 12)]) == 23)
    #expect(!buffer.isEmpty)
    let expected = "*3\r\n$3\r\nSET\r\n$2\r\nä\r\n$0\r\n\r\n*1\r\n$12\r\nxxxxxxxxxxxx\r\n"
    #expect(String(decoding: sent(&buffer), as: UTF8.self) == expected)
    #expect(buffer.isEmpty && sent(&buffer).isEmpty)
  }

  @Test func `bytes that the socket does not take wait, in order, behind no later command`() {
    var buffer = CommandBuffer()
    var expected: [UInt8] = []
    var taken: [UInt8] = []
    for round in 0..<200 {
      let text = String(repeating: "\(round % 10)", count: round * 37)
      var one = CommandBuffer()
      _ = one.append(["ECHO", text])
      expected += sent(&one)
      _ = buffer.append(["ECHO", text])
      taken += sent(&buffer, atMost: round % 3 == 0 ? 0 : round * 35)
    }
    #expect(!buffer.isEmpty)
    taken += sent(&buffer)
    #expect(taken == expected && buffer.isEmpty)
  }
}
