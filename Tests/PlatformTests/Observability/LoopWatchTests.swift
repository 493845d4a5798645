import FoundationEssentials
import Synchronization
import Testing

@testable import EventLoop
@testable import Observability

@LoopActor
// A process has one watch and one loop, so these run one after the other.
@Suite(.serialized) struct LoopWatchTests {
  private func turn(began seconds: UInt64) -> UnfinishedTurn {
    // Any work will do.
    UnfinishedTurn(began: seconds * 1_000_000_000, work: EventLoop.process.unfinishedTurn!.work)
  }

  @Test func `a turn is told once, after a second`() {
    var notice = StallNotice()
    #expect(notice.look(at: nil, now: 5_000_000_000) == nil)
    #expect(notice.look(at: turn(began: 5), now: 5_999_999_999) == nil)
    #expect(notice.look(at: turn(began: 5), now: 6_000_000_000) == .seconds(1))
    #expect(notice.look(at: turn(began: 5), now: 9_000_000_000) == nil)
    #expect(notice.look(at: turn(began: 9), now: 9_500_000_000) == nil)
    #expect(notice.look(at: turn(began: 9), now: 12_000_000_000) == .seconds(3))
  }

  @Test func `a turn from the future is not told`() {
    var notice = StallNotice()
    #expect(notice.look(at: turn(began: 5), now: 4_000_000_000) == nil)
  }

  /// A clock that stands still until a test moves it.
  private final class StillClock: Sendable {
    private let now = Atomic<UInt64>(1_000_000_000)

    func move(seconds: UInt64) { move(milliseconds: seconds * 1000) }
    func move(milliseconds: UInt64) { now.add(milliseconds * 1_000_000, ordering: .relaxed) }
    var time: UInt64 { now.load(ordering: .relaxed) }
  }

  /// Runs a body while the loop goes by a clock of the test.
  private func withClock(_ body: (StillClock) async throws -> Void) async rethrows {
    let (loop, clock) = (EventLoop.process, StillClock())
    let before = (loop.clock, loop.ticks)
    (loop.clock, loop.ticks) = ({ clock.time }, { clock.time })
    defer { (loop.clock, loop.ticks) = before }
    try await body(clock)
  }

  /// Waits until the loop has told the turn under way.
  private func turnEnds() async {
    await withCheckedContinuation { waiter in EndOfTurn { waiter.resume() }.plan() }
  }

  /// Runs work in a timer of the loop, and waits until its turn has been told.
  private func inTimer(_ work: @escaping @LoopActor () -> Void) async {
    var timer: LoopTimer?
    await withCheckedContinuation { waiter in
      timer = LoopTimer(at: "the test's timer") {
        work()
        waiter.resume()
      }
      timer?.start(after: .zero)
    }
    timer?.close()
    await turnEnds()
  }

  @Test func `the loop tells who ran, and knows what runs now`() async throws {
    try await withClock { clock async throws in
      await turnEnds()
      var turns: [LoopTurn] = []
      var seen: UnfinishedTurn?
      EventLoop.process.observeTurns { turns.append($0) }
      defer { EventLoop.process.observeTurns { _ in } }
      await inTimer {
        seen = EventLoop.process.unfinishedTurn
        clock.move(seconds: 3)
      }
      let now = try #require(seen)
      #expect("\(now.work)" == "timer of the test's timer")
      let slow = try #require(turns.first { $0.longest == now.work })
      #expect(slow.duration == .seconds(3))
      #expect(slow.longestDuration == .seconds(3))
      #expect(turns.contains { $0.jobs > 0 })
    }
  }

  @Test func `a turn runs a limited number of jobs, before and after its wait together`() async throws {
    var (ran, most) = (0, 0)
    EventLoop.process.observeTurns { most = max(most, $0.jobs) }
    defer { EventLoop.process.observeTurns { _ in } }
    let tasks = (0..<3 * EventLoop.jobsPerTurn).map { _ in
      Task { @LoopActor in
        ran += 1
        // Each job brings a second one.
        await Task.yield()
        ran += 1
      }
    }
    for task in tasks { await task.value }
    await turnEnds()
    #expect(ran == 6 * EventLoop.jobsPerTurn)
    #expect(most <= EventLoop.jobsPerTurn)
  }

  @Test func `a turn begins no further job after its time`() async throws {
    try await withClock { clock async throws in
      await turnEnds()
      // By the beginning of the turn. Jobs of other tests run beside these, and take no time of this clock.
      var ran: [UInt64: Int] = [:]
      let tasks = (0..<20).map { _ in
        Task { @LoopActor in
          if let turn = EventLoop.process.unfinishedTurn { ran[turn.began, default: 0] += 1 }
          clock.move(seconds: 1)
        }
      }
      for task in tasks { await task.value }
      #expect(ran.values.reduce(0, +) == 20)
      // One each time that the turn looks for jobs, and not all of them together.
      #expect(ran.values.max() ?? 20 <= 4)
    }
  }

  @Test func `a thread notices a turn that does not end, and the loop publishes it when it goes on`() async throws {
    try await withClock { clock async throws in
      await turnEnds()
      let metrics = Metrics()
      let watch = LoopWatch(metrics, Log(level: .error, ["test": "LoopWatchTests"]), every: .milliseconds(1))
      watch.start()
      defer { watch.stop() }
      await inTimer {
        clock.move(seconds: 2)
        // The loop stands still until the thread has seen it. Only a broken thread reaches the limit.
        let end = ContinuousClock.now + .seconds(120)
        while watch.stallCount == 0, .now < end {}
      }
      let text = metrics.text()
      #expect(watch.stallCount == 1)
      #expect(text.contains("\ncountersign_loop_stalls_total 1\n"))
      #expect(text.contains("countersign_loop_turn_seconds_bucket{le=\"0.5\"}"))
      let slow = text.split(separator: "\n").first { $0.hasPrefix("countersign_loop_turn_seconds_sum ") }
      #expect(try #require(slow?.split(separator: " ").last.flatMap { Double($0) }) == 2)
    }
  }

  /// A line about a slow turn.
  private struct Line: Decodable, Equatable {
    let level: String
    let role: String
    let seconds: Double
    let longest: String
    let longestSeconds: Double
    let jobs: Int

    static let event = "slow turn of the loop"
  }

  /// Turns of known lengths, while a watch writes what it sees to standard error.
  private func takeTurns() async {
    await withClock { clock async in
      await turnEnds()
      let watch = LoopWatch(Metrics(), Log(level: .warning, ["role": "test"]))
      watch.start()
      defer { watch.stop() }
      await inTimer { clock.move(milliseconds: 99) }
      await inTimer { clock.move(milliseconds: 100) }
      await inTimer { clock.move(seconds: 4) }
      await Task { @LoopActor in clock.move(milliseconds: 250) }.value
      await turnEnds()
    }
  }

  @Test func `a turn of 100 ms and more is a line that names what took longest`() async throws {
    // Lines go to standard error, so a process of its own writes them.
    let result = try #require(
      await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        await LoopWatchTests().takeTurns()
      })
    let lines = try result.standardErrorContent.split(separator: UInt8(ascii: "\n"))
      .filter { String(decoding: $0, as: UTF8.self).contains("\"event\":\"\(Line.event)\"") }
      .map { try JSONDecoder().decode(Line.self, from: Data($0)) }
    let timer = "timer of the test's timer"
    try #require(lines.count == 3)
    #expect(lines.allSatisfy { $0.level == "warning" && $0.role == "test" })
    #expect(lines.map(\.longest) == [timer, timer, "jobs"])
    #expect(lines.map(\.seconds) == [0.1, 4, 0.25])
    #expect(lines.map(\.longestSeconds) == [0.1, 4, 0.25])
    #expect(lines[2].jobs > 0)
  }
}
