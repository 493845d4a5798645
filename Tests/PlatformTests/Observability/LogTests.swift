import Crypto
import EventLoop
import FoundationEssentials
import Glibc
import Observability
import Testing

/// Lines on standard error; a process of its own writes them.
struct LogTests {
  private struct Line: Decodable, Equatable {
    let level: String
    let event: String
    let text: String?
    let more: String?
    let number: Int64?
    let ratio: Double?
    let flag: Bool?
  }

  private static let nasty = "\"quoted\" \\ back\nline\r\ttab \u{0}\u{1}\u{1F} \u{7F} é 😀 \u{2028} </script>"

  private func lines(_ bytes: [UInt8]) throws -> [Line] {
    try bytes.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Line.self, from: Data($0)) }
  }

  @Test func textsAreEscaped() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        Log(level: .info, ["text": .string(Self.nasty)]).info(Self.nasty, ["more": .string(Self.nasty)])
      })
    let lines = try lines(result.standardErrorContent)
    #expect(
      lines == [
        Line(
          level: "info", event: Self.nasty, text: Self.nasty, more: Self.nasty, number: nil, ratio: nil, flag: nil)
      ])
  }

  @Test func linesOfTheLoopAreInOrderAndWholeWhenTheProcessExitsInTheSameTurn() async throws {
    let result = try #require(
      await #expect(processExitsWith: .exitCode(3), observing: [\.standardErrorContent]) {
        await Task { @LoopActor in
          let log = Log(level: .info)
          for number in Int64(0)..<100 {
            if number % 30 == 29 {
              log.warning("w", ["number": .int(number)])
            } else {
              log.info("i", ["number": .int(number)])
            }
          }
          log.info(String(repeating: "long", count: 2000))
          log.info("last")
          exit(3)
        }.value
      })
    let lines = try lines(result.standardErrorContent)
    #expect(lines.prefix(100).map(\.number) == (0..<100).map { Int64($0) })
    #expect(lines.dropFirst(100).map(\.event.utf8.count) == [8000, 4])
  }

  /// A pipe in the place of standard error that nobody reads. Returns the reading end.
  private static func stalledPipe() -> Int32 {
    var ends: [Int32] = [0, 0]
    precondition(pipe(&ends) == 0 && dup2(ends[1], 2) == 2)
    return ends[0]
  }

  @Test func `a reader that takes nothing does not stop the loop, and gets whole lines later`() async {
    await #expect(processExitsWith: .success) {
      let reader = Self.stalledPipe()
      let dropped = await Task { @LoopActor in
        let log = Log(level: .info)
        // Two megabytes: 64 KiB of them fit in the pipe, and one waits.
        for number in Int64(0)..<20_000 { log.warning(String(repeating: "x", count: 50), ["number": .int(number)]) }
        return Log.droppedLines
      }.value
      precondition((5_000..<15_000).contains(dropped))
      // The loop must go on while somebody reads.
      let text = try await EventLoop.offload { Self.read(reader, lines: 20_000 - dropped) }
      let numbers = try text.split(separator: UInt8(ascii: "\n")).map {
        try JSONDecoder().decode(Line.self, from: Data($0)).number
      }
      precondition(numbers == (0..<numbers.count).map { Int64($0) })
    }
  }

  private static func read(_ reader: Int32, lines: Int) -> [UInt8] {
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var ends = 0
    while ends < lines {
      var arrived = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
      precondition(poll(&arrived, 1, 120_000) == 1, "\(lines - ends) lines did not come")
      let count = Glibc.read(reader, &buffer, buffer.count)
      precondition(count > 0)
      ends += buffer[..<count].count(where: { $0 == UInt8(ascii: "\n") })
      text += buffer[..<count]
    }
    return text
  }

  @Test func anEmptyTextIsNoMember() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        Log(level: .info, ["text": "", "number": 0]).with(["more": ""]).info("event", ["flag": false, "other": ""])
      })
    let line = String(decoding: result.standardErrorContent, as: UTF8.self)
    #expect(line.hasSuffix("\"event\":\"event\",\"number\":0,\"flag\":false}\n"))
  }

  @Test func valuesAndLevels() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let log = Log(level: .warning).with(["number": .int(.min)])
        log.debug("not written")
        log.info("not written")
        log.warning("first", ["ratio": .double(0.5), "flag": true])
        log.error("second", ["ratio": .double(.nan), "flag": false])
      })
    #expect(
      try lines(result.standardErrorContent) == [
        Line(level: "warning", event: "first", text: nil, more: nil, number: .min, ratio: 0.5, flag: true),
        Line(level: "error", event: "second", text: nil, more: nil, number: .min, ratio: nil, flag: false),
      ])
  }

  @Test func aCustomerIsAHashUnlessTheSettingSaysOtherwise() async throws {
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        for customers in [nil] + Log.Customers.allCases {
          let log = customers.map { Log(level: .info, customers: $0) } ?? Log(level: .info)
          log.with(["before": .customer("alice@example.com", of: 1001)])
            .info("event", ["customer": .customer("alice@example.com", of: 1001), "nobody": .customer("", of: 1001)])
        }
      })
    // printf '%s:%s' 1001 alice@example.com | sha256sum | cut -c1-32
    let hash = "\"before\":\"\(Self.hashOfAlice)\",\"customer\":\"\(Self.hashOfAlice)\"}"
    let plain = "\"before\":\"alice@example.com\",\"customer\":\"alice@example.com\"}"
    let lines = String(decoding: result.standardErrorContent, as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 4)
    for (line, end) in zip(lines, [hash, hash, plain, "\"event\":\"event\"}"]) {
      #expect(line.hasSuffix(end), "\(line)")
    }
    #expect(CustomerDigest.short(of: "alice@example.com", of: 1001) == Self.hashOfAlice)
    #expect(CustomerDigest.short(of: "alice@example.com", of: 1002) != Self.hashOfAlice)
  }

  private static let hashOfAlice = "49e0813539a41b22a9974caffc33ac53"
}
