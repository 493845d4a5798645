import EventLoop
import TestSupport
import Testing

@testable import Notifier

/// The order in which callers wait.
@LoopActor
struct DeliveryLineTests {
  @Test func `whoever leaves lets those behind come forward, and only them`() {
    let line = DeliveryLine()
    let numbers = (0..<5).map { _ in line.join(LoopSignal()) }
    #expect(numbers.map { line.ahead(of: $0) } == [0, 1, 2, 3, 4])
    #expect(line.ahead(of: nil) == 5)
    line.leave(numbers[1])
    line.leave(numbers[3])
    #expect([0, 2, 4].map { line.ahead(of: numbers[$0]) } == [0, 1, 2])
    // Leaving twice counts once.
    line.leave(numbers[3])
    #expect(line.count == 3)
    #expect(line.ahead(of: line.join(LoopSignal())) == 3)
  }

  @Test func `the first so many are woken`() async {
    let line = DeliveryLine()
    let turns = (0..<3).map { _ in LoopSignal() }
    for turn in turns { _ = line.join(turn) }
    var woken: [Int] = []
    let waiters = turns.indices.map { index in
      Task { @LoopActor in
        await turns[index].wait(atMost: .patience)
        woken.append(index)
      }
    }
    // All of them wait by now: the tasks of one actor start in their order.
    await Task { @LoopActor in }.value
    line.wake(2)
    for waiter in waiters.prefix(2) { await waiter.value }
    #expect(woken == [0, 1])
    line.wake(-1)
    line.wake(3)
    await waiters[2].value
    #expect(woken == [0, 1, 2])
  }
}
