import EventLoop
import Testing

@LoopActor
@Suite struct EndOfTurnTests {
  /// Suspends until the turn has ended and all earlier planned work is done.
  private func turnEnds() async {
    await withCheckedContinuation { waiter in EndOfTurn { waiter.resume() }.plan() }
  }

  @Test func `work is done once a turn, however often it is planned`() async {
    var count = 0
    let work = EndOfTurn { count += 1 }
    for _ in 0..<3 { work.plan() }
    #expect(count == 0)
    await turnEnds()
    #expect(count == 1)
    await turnEnds()
    #expect(count == 1)
    work.plan()
    await turnEnds()
    #expect(count == 2)
  }

  @Test func `works are done in the order in which they were planned`() async {
    var order: [Int] = []
    let works = (0..<3).map { number in EndOfTurn { order.append(number) } }
    for number in [1, 0, 2, 1] { works[number].plan() }
    await turnEnds()
    #expect(order == [1, 0, 2])
  }

  @Test func `what is done at once is not done again`() async {
    var count = 0
    let work = EndOfTurn { count += 1 }
    work.runIfPlanned()
    #expect(count == 0)
    work.plan()
    work.runIfPlanned()
    #expect(count == 1)
    await turnEnds()
    #expect(count == 1)
  }

  @Test func `what is forgotten is not done, until it is planned again`() async {
    var count = 0
    let work = EndOfTurn { count += 1 }
    work.plan()
    work.forget()
    await turnEnds()
    #expect(count == 0)
    work.plan()
    work.forget()
    work.plan()
    await turnEnds()
    #expect(count == 1)
  }

  @Test func `work that others cause at the end of a turn is done in the same turn`() async {
    var order: [String] = []
    let last = EndOfTurn { order.append("last") }
    let first = EndOfTurn {
      order.append("first")
      last.plan()
    }
    first.plan()
    await turnEnds()
    #expect(order == ["first", "last"])
  }

  @Test func `a plan keeps its work until it is done`() async {
    var count = 0
    EndOfTurn { count += 1 }.plan()
    await turnEnds()
    #expect(count == 1)
  }
}
