import EventLoop
import TestSupport
import Testing

/// A test that waits in vain ends, and says what did not come.
@LoopActor
@Suite struct PatienceTests {
  private static let limit = Duration.milliseconds(20)

  private func complaint(_ wait: () async throws -> Void) async throws -> String {
    let error = await #expect(throws: NeverHappened.self) { try await wait() }
    return try #require(error).description
  }

  @Test func `a mailbox tells what it collects, what was awaited and how much has come`() async throws {
    let letters = Mailbox<Int>(of: "letters", within: Self.limit)
    letters.put(1)
    let few = try await complaint { try await letters.wait(for: 2) }
    #expect(few.hasPrefix("letters: 1 came") && few.hasSuffix("(2)"))
    let other = try await complaint { try await letters.wait("a 7") { $0.contains(7) } }
    #expect(other.hasSuffix("(a 7)"))
    // A wait in vain leaves the mailbox as it was.
    letters.put(2)
    let all = try await letters.wait(for: 2)
    #expect(all == [1, 2])
  }

  @Test func `a value that comes during a wait ends it, though the next one changes the picture`() async throws {
    let letters = Mailbox<Int>(of: "letters")
    let waiting = Task { @LoopActor in try await letters.wait { $0.last == 7 } }
    try await eventually("somebody waits") { letters.waits == 1 }
    for number in [1, 7, 2] { letters.put(number) }
    let all = try await waiting.value
    #expect(all == [1, 7, 2])
  }

  @Test func `a signal's wait tells its words`() async throws {
    let signal = LoopSignal()
    let complaint = try await complaint { try await signal.wait(for: "rain", within: Self.limit) { false } }
    #expect(complaint.hasPrefix("rain did not"))
  }

  @Test func `a cancelled wait ends at once`() async throws {
    let letters = Mailbox<Int>(of: "letters")
    let waiting = Task { @LoopActor in try await letters.wait(for: 1) }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }

  @Test func `a poll tells its words`() async throws {
    let complaint = try await complaint { try await eventually("snow", within: Self.limit) { false } }
    #expect(complaint.hasPrefix("snow did not"))
  }

  @Test func `a wait in steps tells what is missing when no step comes`() async throws {
    var missing = ["a", "b", "c", "d", "e"]
    let complaint = try await complaint {
      try await untilNothingIsMissing("letters", within: Self.limit) {
        if missing.count > 4 { missing.removeFirst() }
        return missing
      }
    }
    #expect(complaint.hasPrefix("letters: nothing more came") && complaint.hasSuffix("4 are missing, such as b, c, d"))
  }

  @Test func `a wait in steps ends with the last one, and each step has the whole time`() async throws {
    var rest = (1...4).map(String.init)
    try await untilNothingIsMissing("numbers") {
      defer { rest = Array(rest.dropLast()) }
      return rest
    }
    #expect(rest.isEmpty)
  }
}
