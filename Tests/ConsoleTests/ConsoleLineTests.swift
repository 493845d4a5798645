import EventLoop
import Testing

@testable import Console

/// The line for work that takes what others need too.
struct ConsoleLineTests {
  private static let limits = ConsoleTurns.Limits(atOnce: 2, waiting: 2, ofOwner: 3)

  @Test func `few work at once, few wait, and the first come first`() {
    var turns = ConsoleTurns(Self.limits)
    #expect((0..<5).map { turns.add($0, of: "\($0)") } == [.works, .works, .waits, .waits, .refused])
    #expect(!turns.hasRoom(for: "x"))
    #expect(turns.end(4) == nil && turns.end(1) == 2 && turns.end(0) == 3)
    #expect(turns.add(5, of: "5") == .waits)
    #expect(turns.end(2) == 5 && turns.end(3) == nil && turns.end(5) == nil)
    #expect((6..<8).map { turns.add($0, of: "\($0)") } == [.works, .works])
  }

  @Test func `nobody fills the line alone`() {
    var turns = ConsoleTurns(Self.limits)
    #expect((0..<4).map { turns.add($0, of: "a") } == [.works, .works, .waits, .refused])
    #expect(turns.hasRoom(for: "b") && !turns.hasRoom(for: "a"))
    #expect(turns.end(0) == 2 && turns.hasRoom(for: "a"))
  }

  @Test(.timeLimit(.minutes(2))) @LoopActor func `work waits for its turn, and a failure ends one too`() async throws {
    struct Failed: Error {}
    let line = ConsoleLine(ConsoleTurns.Limits(atOnce: 1, waiting: 1, ofOwner: 9))
    let (started, start) = AsyncStream<Void>.makeStream()
    let (gate, open) = AsyncStream<Void>.makeStream()
    let first = Task { @LoopActor in
      try await line.run(of: "a") {
        start.yield()
        for await _ in gate { break }
        throw Failed()
      }
    }
    for await _ in started { break }
    #expect(line.hasRoom(for: "b"))
    async let second = line.run(of: "b") { 2 }
    while line.hasRoom(for: "c") { await Task.yield() }
    #expect(await line.run(of: "c") { 3 } == nil)
    open.yield()
    await #expect(throws: Failed.self) { try await first.value }
    #expect(await second == 2)
    #expect(await line.run(of: "c") { 3 } == 3)
  }
}
