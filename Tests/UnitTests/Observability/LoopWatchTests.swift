import EventLoop
import Testing

@testable import Observability

@LoopActor
// A process has one watch, so these run one after the other.
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

  @Test func `the loop tells who ran, and knows what runs now`() async throws {
    var turns: [LoopTurn] = []
    var seen: UnfinishedTurn?
    EventLoop.process.observeTurns { turns.append($0) }
    defer { EventLoop.process.observeTurns { _ in } }
    await withCheckedContinuation { waiter in
      let timer = LoopTimer(at: "the test's timer") {
        seen = EventLoop.process.unfinishedTurn
        // A busy loop of some ticks of the clock is the longest piece of its turn.
        let begin = monotonicNanoseconds()
        while monotonicNanoseconds() < begin + 20_000_000 {}
        waiter.resume()
      }
      timer.start(after: .zero)
    }
    let now = try #require(seen)
    #expect("\(now.work)" == "timer of the test's timer")
    // This job runs in the same turn as the timer or in the next, so the turn's end may be to come.
    try await EventLoop.sleep(for: .milliseconds(1))
    let slow = try #require(turns.first { $0.longest == now.work })
    #expect(slow.duration >= slow.longestDuration - .milliseconds(10))
    #expect(slow.longestDuration >= .milliseconds(10))
    #expect(turns.contains { $0.jobs > 0 })
  }

  @Test func `a thread notices a turn that does not end, and the loop publishes it when it goes on`() async throws {
    let metrics = Metrics()
    let watch = LoopWatch(metrics, Log(level: .error, ["test": "LoopWatchTests"]))
    watch.start()
    defer { watch.stop() }
    await withCheckedContinuation { waiter in
      let timer = LoopTimer {
        // The loop stands still until the thread has seen it. Only a broken thread reaches the limit.
        let end = ContinuousClock.now + .seconds(60)
        while watch.stallCount == 0, .now < end {}
        waiter.resume()
      }
      timer.start(after: .zero)
    }
    try await EventLoop.sleep(for: .milliseconds(1))
    let text = metrics.text()
    #expect(text.contains("\ncountersign_loop_stalls_total \(watch.stallCount)\n"))
    #expect(watch.stallCount > 0)
    #expect(text.contains("countersign_loop_turn_seconds_bucket{le=\"0.5\"}"))
    let slow = text.split(separator: "\n").first { $0.hasPrefix("countersign_loop_turn_seconds_sum ") }
    #expect(try #require(slow?.split(separator: " ").last.flatMap { Double($0) }) >= 1)
  }
}
