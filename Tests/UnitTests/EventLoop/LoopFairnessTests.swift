import EventLoop
import Glibc
import Testing

/// Work that asks to run again at once, beside other work that must have its turn.
@LoopActor
@Suite struct LoopFairnessTests {
  /// Only a loop that does nothing else comes so far.
  private static let endless = 200_000

  /// A timer that starts itself again in its own handler.
  @LoopActor
  private final class Spinner {
    private(set) var runs = 0
    private var timer: LoopTimer?

    init(after delay: Duration) {
      timer = LoopTimer { [weak self] in
        guard let self else { return }
        runs += 1
        if runs < LoopFairnessTests.endless { timer?.start(after: delay) }
      }
      timer?.start(after: delay)
    }

    func close() {
      timer?.close()
      timer = nil
    }
  }

  /// Waits until the timer has run, so that what follows happens beside it.
  private func begun(_ spinner: Spinner) async throws {
    while spinner.runs == 0 { try await EventLoop.sleep(for: .milliseconds(1)) }
  }

  @Test func `a timer that starts itself with 0 ms stops no other timer`() async throws {
    let spinner = Spinner(after: .zero)
    defer { spinner.close() }
    try await begun(spinner)
    try await EventLoop.sleep(for: .milliseconds(2))
    #expect(spinner.runs < Self.endless)
  }

  @Test func `a timer that starts itself with 0 ms stops no job of another thread`() async throws {
    let spinner = Spinner(after: .zero)
    defer { spinner.close() }
    try await begun(spinner)
    let seen = await Task.detached { await spinner.runs }.value
    #expect(seen < Self.endless)
  }

  @Test func `a timer that starts itself with 0 ms stops no descriptor`() async throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    let spinner = Spinner(after: .zero)
    defer { spinner.close() }
    try await begun(spinner)
    var seen: Int?
    let watcher = try DescriptorWatcher(descriptor: ends[0]) { _ in seen = seen ?? spinner.runs }
    watcher.watch(.readable)
    defer { watcher.close() }
    try #require(write(ends[1], "x", 1) == 1)
    while seen == nil, spinner.runs < Self.endless { try await EventLoop.sleep(for: .milliseconds(1)) }
    #expect(try #require(seen) < Self.endless)
  }

  @Test func `a timer runs once a turn, and again in the next one`() async throws {
    var (runs, runsOfTurn, most) = (0, 0, 0)
    let end = EndOfTurn { runsOfTurn = 0 }
    var timer: LoopTimer?
    await withCheckedContinuation { waiter in
      timer = LoopTimer {
        runs += 1
        runsOfTurn += 1
        most = max(most, runsOfTurn)
        end.plan()
        if runs == 100 { waiter.resume() } else { timer?.start(after: .zero) }
      }
      timer?.start(after: .zero)
    }
    timer?.close()
    #expect(most == 1)
  }

  @Test func `timers that start each other do not run in one turn`() async throws {
    var turns: [Int] = []
    var turn = 0
    let end = EndOfTurn { turn += 1 }
    var timers: [LoopTimer] = []
    await withCheckedContinuation { (waiter: CheckedContinuation<Void, Never>) in
      @LoopActor func next() {
        let timer = LoopTimer {
          turns.append(turn)
          end.plan()
          if turns.count == 5 { waiter.resume() } else { next() }
        }
        timers.append(timer)
        timer.start(after: .zero)
      }
      next()
    }
    for timer in timers { timer.close() }
    #expect(turns == [0, 1, 2, 3, 4])
  }

  /// A timer as its handler sees it.
  @LoopActor
  private final class Own {
    var timer: LoopTimer?
  }

  /// Work that plans itself again.
  @LoopActor
  private final class Planner {
    private(set) var runs = 0
    private var isOver = false
    private lazy var work = EndOfTurn { [weak self] in self?.run() }

    func run() {
      runs += 1
      if !isOver, runs < LoopFairnessTests.endless { work.plan() }
    }

    func end() { isOver = true }
  }

  @Test func `a handler can stop, restart and close its timer`() async throws {
    var (stopped, restarted, closed, repeated) = (0, 0, 0, 0)
    var timers: [LoopTimer] = []
    func timer(every interval: Duration? = nil, _ handler: @escaping @LoopActor (LoopTimer) -> Void) {
      let own = Own()
      let made = LoopTimer { if let timer = own.timer { handler(timer) } }
      own.timer = made
      timers.append(made)
      made.start(after: .zero, every: interval)
    }
    timer(every: .milliseconds(1)) {
      stopped += 1
      $0.stop()
    }
    timer {
      closed += 1
      $0.start(after: .zero)
      $0.close()
    }
    timer {
      restarted += 1
      // The later call counts.
      $0.start(after: .zero)
      $0.start(after: .seconds(3600))
    }
    timer(every: .milliseconds(1)) { _ in repeated += 1 }
    while repeated < 5 { try await EventLoop.sleep(for: .milliseconds(1)) }
    #expect((stopped, closed, restarted) == (1, 1, 1))
    for each in timers { each.close() }
  }

  @Test func `a timer that a handler starts is due from the start on`() async throws {
    var order: [String] = []
    let early = LoopTimer { order.append("early") }
    let late = LoopTimer { order.append("late") }
    let first = LoopTimer {
      late.start(after: .milliseconds(30))
      early.start(after: .milliseconds(10))
    }
    first.start(after: .zero)
    while order.count < 2 { try await EventLoop.sleep(for: .milliseconds(1)) }
    #expect(order == ["early", "late"])
    for timer in [first, early, late] { timer.close() }
  }

  @Test func `work that plans itself at the end of the turn stops neither timers nor jobs`() async throws {
    let planner = Planner()
    planner.run()
    while planner.runs < 2 { try await EventLoop.sleep(for: .milliseconds(1)) }
    let seen = await Task.detached { await planner.runs }.value
    planner.end()
    #expect(seen < Self.endless)
    #expect(seen > 1)
  }
}
