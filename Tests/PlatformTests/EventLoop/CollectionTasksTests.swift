import EventLoop
import TestSupport
import Testing

/// Tasks that are awaited together.
@LoopActor
struct CollectionTasksTests {
  private struct Failed: Error, Equatable { let number: Int }

  @Test func `the values come in the order of the tasks`() async throws {
    let tasks = (0..<3).map { number in Task<Int, any Error> { @LoopActor in number } }
    #expect(try await tasks.allValues() == [0, 1, 2])
  }

  @Test func `the first failure is thrown when all tasks have ended`() async {
    let gate = Gate()
    var ended: [Int] = []
    let tasks = (0..<3).map { number in
      Task<Int, any Error> { @LoopActor in
        if number == 2 { await gate.pass() }
        ended.append(number)
        if number > 0 { throw Failed(number: number) }
        return number
      }
    }
    let waiting = Task { @LoopActor in
      defer { ended.append(3) }
      return try await tasks.allValues()
    }
    try? await gate.holds(1)
    #expect(ended == [0, 1])
    gate.open()
    await #expect(throws: Failed(number: 1)) { try await waiting.value }
    #expect(ended == [0, 1, 2, 3])
  }
}
