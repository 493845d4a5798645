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
}
