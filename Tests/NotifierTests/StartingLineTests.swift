import EventLoop
import Testing

@testable import Notifier

/// The order in which the runs of messages in hand begin.
@LoopActor
struct StartingLineTests {
  /// What has begun, by names, and what was given back.
  @LoopActor
  private final class Runs {
    var begun: [String] = []
    var starts: [StartingLine.Start] = []
    var givenBack: [String] = []

    func waiting(_ name: String) -> StartingLine.Waiting {
      StartingLine.Waiting(
        begin: { [self] start in
          begun.append(name)
          starts.append(start)
        }, giveBack: { [self] in givenBack.append(name) })
    }
  }

  private let line = StartingLine()
  private let runs = Runs()

  private func join(_ count: Int, of publisher: Int64, _ name: String) {
    for number in 0..<count { line.join(publisher, runs.waiting("\(name)\(number)")) }
  }

  @Test func `with room, all begin at once and in their order`() {
    join(StartingLine.most, of: 1, "a")
    #expect(runs.begun == (0..<StartingLine.most).map { "a\($0)" })
    #expect(line.count == 0)
  }

  @Test func `a quiet publisher begins second behind a burst of a thousand`() {
    join(1_000, of: 1, "a")
    join(1, of: 2, "b")
    #expect(runs.begun.count == StartingLine.most)
    runs.starts[0].end()
    runs.starts[1].end()
    #expect(runs.begun.suffix(2).contains("b0"))
    #expect(line.count == 1_000 - StartingLine.most - 1)
  }

  @Test func `a start makes room once`() {
    join(StartingLine.most + 5, of: 1, "a")
    let start = runs.starts[3]
    for _ in 0..<3 { start.end() }
    #expect(runs.begun.count == StartingLine.most + 1)
    StartingLine.Start.free.end()
    #expect(runs.begun.count == StartingLine.most + 1)
  }

  @Test func `runs that end as they begin let all begin`() {
    var count = 0
    for _ in 0..<100_000 {
      line.join(
        1,
        StartingLine.Waiting(
          begin: {
            count += 1
            $0.end()
          }, giveBack: {}))
    }
    #expect(count == 100_000)
    join(1, of: 2, "b")
    #expect(runs.begun == ["b0"])
  }

  @Test func `what has not begun is given back at the end`() {
    join(StartingLine.most, of: 1, "a")
    join(3, of: 2, "b")
    line.giveBack()
    #expect(runs.givenBack == ["b0", "b1", "b2"])
    for start in runs.starts { start.end() }
    #expect(runs.begun.count == StartingLine.most)
  }
}
