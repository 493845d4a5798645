import EventLoop
import Testing

@LoopActor
struct TurnBatchTests {
  private struct Refused: Error, Equatable { let question: Int }

  @Test func `the questions of a turn share trips of a bounded size, and each gets its own answer`() async throws {
    var trips: [[Int]] = []
    let batch = TurnBatch<Int, String>(atMost: 2) { questions in
      trips.append(questions)
      return questions.map { $0 == 3 ? .failure(Refused(question: 3)) : .success("answer \($0)") }
    }
    let asked = (1...5).map { number in Task.immediate { @LoopActor in try await batch.ask(number) } }
    #expect(trips.isEmpty)
    for (number, task) in zip(1..., asked) {
      if number == 3 {
        await #expect(throws: Refused(question: 3)) { try await task.value }
      } else {
        #expect(try await task.value == "answer \(number)")
      }
    }
    #expect(trips == [[1, 2], [3, 4], [5]])
  }

  @Test func `a trip that fails is the failure of its questions only`() async throws {
    let batch = TurnBatch<Int, Int>(atMost: 2) { questions in
      if questions.contains(1) { throw Refused(question: 1) }
      return questions.map { .success($0) }
    }
    let asked = (1...4).map { number in Task.immediate { @LoopActor in try await batch.ask(number) } }
    for task in asked[..<2] { await #expect(throws: Refused(question: 1)) { try await task.value } }
    for (number, task) in zip(3..., asked[2...]) { #expect(try await task.value == number) }
  }
}
