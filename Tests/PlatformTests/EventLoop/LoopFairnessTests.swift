import EventLoop
import Glibc
import TestSupport
import Testing

/// Work that asks to run again at once, beside other work that must have its turn.
@LoopActor
@Suite struct LoopFairnessTests {
  /// Only a loop that does nothing else comes so far.
  private static let endless = 200_000

  /// Wakes a test when something has happened so often.
  @LoopActor
  private final class Count {
    private(set) var value = 0
    private var awaited = 0
    private let reached = LoopSignal()

    func add() {
      value += 1
      if value == awaited { reached.notify() }
    }

    func reaches(_ least: Int) async throws {
      awaited = least
      try await reached.wait(for: "\(least) runs") { value >= least }
    }
  }

  /// A timer that starts itself again in its own handler.
  @LoopActor
  private final class Spinner {
    let runs = Count()
    private var timer: LoopTimer?

    /// Returns when it has run, so that what follows happens beside it.
    init(after delay: Duration) async throws {
      timer = LoopTimer { [weak self] in
        guard let self else { return }
        runs.add()
        if runs.value < LoopFairnessTests.endless { timer?.start(after: delay) }
      }
      timer?.start(after: delay)
      try await runs.reaches(1)
    }

    func close() {
      timer?.close()
      timer = nil
    }
  }

  @Test func `a timer that starts itself with 0 ms stops no other timer`() async throws {
    let spinner = try await Spinner(after: .zero)
    defer { spinner.close() }
    var seen = Self.endless
    let calls = Count()
    var other: LoopTimer?
    other = LoopTimer {
      seen = spinner.runs.value
      other?.close()
      calls.add()
    }
    // A timer of 0 ms would be due before the spinner's next run.
    other?.start(after: .milliseconds(1))
    try await calls.reaches(1)
    #expect(seen < Self.endless)
  }

  @Test func `a timer that starts itself with 0 ms stops no job of another thread`() async throws {
    let spinner = try await Spinner(after: .zero)
    defer { spinner.close() }
    let seen = await Task.detached { await spinner.runs.value }.value
    #expect(seen < Self.endless)
  }

  @Test func `a timer that starts itself with 0 ms stops no descriptor`() async throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    let spinner = try await Spinner(after: .zero)
    defer { spinner.close() }
    let calls = Count()
    var seen: Int?
    let watcher = try DescriptorWatcher(descriptor: ends[0]) { _ in
      seen = seen ?? spinner.runs.value
      calls.add()
    }
    watcher.watch(.readable)
    defer { watcher.close() }
    try #require(write(ends[1], "x", 1) == 1)
    try await calls.reaches(1)
    #expect(try #require(seen) < Self.endless)
  }

  @Test func `a timer runs once a turn, and again in the next one`() async throws {
    let runs = Count()
    var (runsOfTurn, most) = (0, 0)
    let end = EndOfTurn { runsOfTurn = 0 }
    var timer: LoopTimer?
    timer = LoopTimer {
      runs.add()
      runsOfTurn += 1
      most = max(most, runsOfTurn)
      end.plan()
      if runs.value < 100 { timer?.start(after: .zero) }
    }
    timer?.start(after: .zero)
    try await runs.reaches(100)
    timer?.close()
    #expect(most == 1)
  }

  @Test func `timers that start each other do not run in one turn`() async throws {
    var turns: [Int] = []
    var turn = 0
    let end = EndOfTurn { turn += 1 }
    var timers: [LoopTimer] = []
    let runs = Count()
    @LoopActor func next() {
      let timer = LoopTimer {
        turns.append(turn)
        end.plan()
        runs.add()
        if turns.count < 5 { next() }
      }
      timers.append(timer)
      timer.start(after: .zero)
    }
    next()
    try await runs.reaches(5)
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
    let runs = Count()
    private var isOver = false
    private lazy var work = EndOfTurn { [weak self] in self?.run() }

    func run() {
      runs.add()
      if !isOver, runs.value < LoopFairnessTests.endless { work.plan() }
    }

    func end() { isOver = true }
  }

  @Test func `a handler can stop, restart and close its timer`() async throws {
    var (stopped, restarted, closed) = (0, 0, 0)
    let repeated = Count()
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
    timer(every: .milliseconds(1)) { _ in repeated.add() }
    try await repeated.reaches(5)
    #expect((stopped, closed, restarted) == (1, 1, 1))
    for each in timers { each.close() }
  }

  @Test func `a timer that a handler starts is due from the start on`() async throws {
    var order: [String] = []
    let runs = Count()
    func timer(_ name: String) -> LoopTimer {
      LoopTimer {
        order.append(name)
        runs.add()
      }
    }
    let (early, late) = (timer("early"), timer("late"))
    let first = LoopTimer {
      // If somebody takes the processor between the two starts, the early one is not the early one.
      repeat {
        let start = ContinuousClock.now
        late.start(after: .milliseconds(30))
        early.start(after: .milliseconds(10))
        if ContinuousClock.now - start < .milliseconds(10) { break }
      } while true
    }
    first.start(after: .zero)
    try await runs.reaches(2)
    #expect(order == ["early", "late"])
    for timer in [first, early, late] { timer.close() }
  }

  @Test func `timers that are overdue when their turn ends run in the order of their times`() async throws {
    var order: [String] = []
    let runs = Count()
    func timer(_ name: String) -> LoopTimer {
      LoopTimer {
        order.append(name)
        runs.add()
      }
    }
    let (early, late) = (timer("early"), timer("late"))
    let first = LoopTimer {
      // If somebody takes the processor between the two starts, the early one is not the early one.
      repeat {
        let start = ContinuousClock.now
        late.start(after: .milliseconds(3))
        early.start(after: .milliseconds(1))
        if ContinuousClock.now - start < .milliseconds(1) { break }
      } while true
      // A long turn.
      let end = ContinuousClock.now + .milliseconds(10)
      while ContinuousClock.now < end {}
    }
    first.start(after: .zero)
    try await runs.reaches(2)
    #expect(order == ["early", "late"])
    for timer in [first, early, late] { timer.close() }
  }

  @Test func `work that plans itself at the end of the turn stops neither timers nor jobs`() async throws {
    let planner = Planner()
    planner.run()
    try await planner.runs.reaches(2)
    let seen = await Task.detached { await planner.runs.value }.value
    planner.end()
    #expect(seen < Self.endless)
    #expect(seen > 1)
  }
}
