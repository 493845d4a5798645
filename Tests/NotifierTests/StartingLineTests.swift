import Domain
import EventLoop
import TestSupport
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

  /// Time and processor time, as a test says.
  @LoopActor
  private final class Clock {
    var now: Duration = .seconds(100)
    var used: Duration = .zero
  }

  private let line: StartingLine
  private let runs = Runs()
  private let clock = Clock()

  init() { line = StartingLine(StartingLine.Clocks(now: { [clock] in clock.now }, used: { [clock] in clock.used })) }

  private func join(_ count: Int, of publisher: PublisherId, _ name: String, _ crowd: EventCrowd = .few) {
    for number in 0..<count { line.join(publisher, crowd, runs.waiting("\(name)\(number)")) }
  }

  @Test func `with room, all begin at once and in their order`() {
    join(StartingLine.most.usual, of: 1, "a")
    #expect(runs.begun == (0..<StartingLine.most.usual).map { "a\($0)" })
    #expect(line.count == 0)
  }

  @Test func `a quiet publisher begins second behind a burst of a thousand`() {
    join(1_000, of: 1, "a")
    join(1, of: 2, "b")
    #expect(runs.begun.count == StartingLine.most.usual)
    runs.starts[0].end()
    runs.starts[1].end()
    #expect(runs.begun.suffix(2).contains("b0"))
    #expect(line.count == 1_000 - StartingLine.most.usual - 1)
  }

  @Test func `a start makes room once`() {
    join(StartingLine.most.usual + 5, of: 1, "a")
    let start = runs.starts[3]
    for _ in 0..<3 { start.end() }
    #expect(runs.begun.count == StartingLine.most.usual + 1)
    StartingLine.Start.free.end()
    #expect(runs.begun.count == StartingLine.most.usual + 1)
  }

  @Test func `runs that end as they begin let all begin`() {
    var count = 0
    for _ in 0..<100_000 {
      line.join(
        1, .few,
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
    join(StartingLine.most.usual, of: 1, "a")
    join(3, of: 2, "b")
    line.giveBack()
    #expect(runs.givenBack == ["b0", "b1", "b2"])
    for start in runs.starts { start.end() }
    #expect(runs.begun.count == StartingLine.most.usual)
  }

  // MARK: Bursts

  private func begun(_ name: Character) -> Int { runs.begun.count { $0.first == name } }

  private func end(_ starts: Range<Int>) { for start in runs.starts[starts] { start.end() } }

  /// A burst that fills the line, beside a publisher with few events. The loop has used its part.
  private func burstBesideAnother() {
    join(200, of: 1, "a", .flood)
    join(1, of: 2, "b")
    // Fewer runs may be on the way now.
    end(0..<StartingLine.most.usual - StartingLine.most.besideBursts)
    #expect(begun("b") == 0)
    // They take turns, and the burst came last.
    end(48..<50)
    #expect(runs.begun.suffix(2) == ["b0", "a64"])
    clock.used += .seconds(1)
  }

  @Test func `beside another publisher a burst begins no more when the loop has used its part`() {
    burstBesideAnother()
    end(50..<StartingLine.most.usual)
    #expect(begun("a") == StartingLine.most.usual + 1 && line.rests == 1)
    // Others that come meanwhile begin at once.
    join(1, of: 2, "c")
    join(1, of: 3, "d")
    #expect(begun("c") == 1 && begun("d") == 1 && begun("a") == StartingLine.most.usual + 1 && line.rests == 1)
    line.giveBack()
  }

  @Test func `a burst goes on after its rest, with the line's own timer`() async throws {
    burstBesideAnother()
    end(50..<StartingLine.most.usual)
    #expect(begun("a") == StartingLine.most.usual + 1)
    clock.now += BurstPace.longestRest
    try await eventually("the burst goes on") { begun("a") > StartingLine.most.usual + 1 }
    line.giveBack()
  }

  /// When the loop has used its part, the burst begins no more, although there is room.
  private func expectRest() {
    clock.used += .seconds(1)
    let count = begun("a")
    end(0..<runs.starts.count)
    #expect(begun("a") == count && line.rests == 1)
    line.giveBack()
  }

  @Test func `a publisher that was quiet before the burst counts, too`() {
    join(1, of: 2, "b")
    join(200, of: 1, "a", .burst)
    expectRest()
  }

  @Test func `as long as the loop has used little, few begin at once`() {
    join(1, of: 2, "b")
    join(200, of: 1, "a", .flood)
    #expect(begun("a") == BurstPace.Stage.published.atOnce)
    clock.now += BurstPace.tick
    end(0..<1)
    #expect(begun("a") == 2 * BurstPace.Stage.published.atOnce)
    line.giveBack()
  }

  @Test func `the burst's own first events do not hide another publisher`() {
    join(1, of: 2, "b")
    join(10, of: 1, "c")
    join(200, of: 1, "a", .flood)
    expectRest()
  }

  /// What a burst begins in half a second, if each delivery costs 0.1 ms, and others have an event now and then.
  private func begunInHalfASecond() -> Int {
    let before = begun("a")
    for _ in 0..<500 {
      let (started, count) = (runs.starts.count, begun("a"))
      join(1, of: 2, "b")
      end(0..<started)
      clock.used += .microseconds(100) * (begun("a") - count)
      clock.now += .milliseconds(1)
    }
    return begun("a") - before
  }

  @Test func `a burst that lasts gets more of the loop, also if its line is empty once`() {
    join(1, of: 2, "b")
    join(2_500, of: 1, "a", .flood)
    let first = begunInHalfASecond()
    #expect(180...260 ~= first)
    clock.now += BurstPace.patience - .seconds(2)
    // The rest begins, and the line is empty for a while.
    _ = begunInHalfASecond()
    #expect(begun("a") == 2_500 && line.count == 0)
    join(10_000, of: 1, "a", .flood)
    let half = begunInHalfASecond()
    #expect(2_300...2_700 ~= half)
    clock.now += .seconds(1)
    let later = begunInHalfASecond()
    #expect(4_200...4_700 ~= later)
    line.giveBack()
  }

  @Test func `long after a burst, and for another publisher, the next one begins slowly again`() {
    join(1, of: 2, "b")
    join(2_500, of: 1, "a", .flood)
    let first = begunInHalfASecond()
    clock.now += BurstPace.publication
    _ = begunInHalfASecond()
    #expect(line.count == 0)
    join(3_000, of: 3, "a", .flood)
    let others = begunInHalfASecond()
    #expect(abs(others - first) < 30)
    clock.now += BurstPace.publication
    while line.count > 0 { _ = begunInHalfASecond() }
    clock.now += BurstPace.patience
    join(3_000, of: 1, "a", .flood)
    let next = begunInHalfASecond()
    #expect(abs(next - first) < 30)
    line.giveBack()
  }

  @Test func `a burst that lasts has the line's usual room`() {
    join(1, of: 2, "b")
    join(200, of: 1, "a", .flood)
    clock.now += BurstPace.patience - .seconds(1)
    join(1, of: 1, "a", .flood)
    clock.now += .seconds(2)
    join(1, of: 2, "b")
    #expect(runs.begun.count > StartingLine.most.besideBursts + 20)
    line.giveBack()
  }

  @Test func `without another publisher a burst keeps to no pace`() {
    join(20, of: 1, "a")
    join(200, of: 1, "a", .flood)
    clock.used += .seconds(1)
    end(0..<StartingLine.most.usual)
    #expect(runs.begun.count == 2 * StartingLine.most.usual)
    // Another publisher of long ago is none.
    join(1, of: 2, "b")
    clock.now += StartingLine.others
    end(StartingLine.most.usual..<2 * StartingLine.most.usual)
    #expect(runs.begun.count == 3 * StartingLine.most.usual && line.rests == 0)
  }

  @Test func `few events of the burst's publisher do not stand behind its burst`() {
    join(200, of: 1, "a", .flood)
    join(1, of: 1, "b")
    end(0..<1)
    #expect(runs.begun.last == "b0")
  }

  @Test func `many others that fill the line do not stop a burst`() {
    join(200, of: 1, "a", .flood)
    for publisher in 0..<300 { join(1, of: PublisherId(Int64(1_000 + publisher)), "b") }
    end(0..<48)
    // As long as the loop has used little, both lines take turns.
    end(48..<52)
    #expect(runs.begun.suffix(4) == ["b0", "a64", "b0", "a65"])
    clock.used += .seconds(1)
    end(52..<56)
    #expect(begun("a") == StartingLine.most.usual + 2 && begun("b") == 6)
    // After the longest rest the next place is the burst's.
    clock.now += BurstPace.longestRest
    end(56..<57)
    #expect(begun("a") == StartingLine.most.usual + 3 && begun("b") == 6)
    line.giveBack()
  }

  @Test func `runs of a paced burst may end as they begin`() {
    join(1, of: 2, "b")
    var count = 0
    for _ in 0..<100 {
      let one = StartingLine.Waiting(
        begin: {
          count += 1
          $0.end()
        }, giveBack: {})
      line.join(1, .flood, one)
    }
    #expect(count == BurstPace.Stage.published.atOnce && line.count == 100 - BurstPace.Stage.published.atOnce)
    line.hurry()
    #expect(count == 100)
  }

  @Test func `a process that stops lets nothing rest, and gives nothing back that can begin`() {
    burstBesideAnother()
    end(50..<StartingLine.most.usual)
    #expect(line.rests == 1)
    line.hurry()
    // Two were on the way, and all usual places are taken now.
    #expect(begun("a") == 65 + StartingLine.most.usual - 2)
    while line.count > 0 { end(0..<runs.starts.count) }
    #expect(begun("a") == 200 && runs.givenBack.isEmpty)
  }

  @Test func `the clocks of the process go on`() {
    let clocks = StartingLine.Clocks()
    let (now, used) = (clocks.now(), clocks.used())
    var sum = 0
    while clocks.used() == used || clocks.now() == now { sum &+= 1 }
    #expect(clocks.used() > used && clocks.now() > now)
  }
}
