public import EventLoop
import Synchronization

/// Measures the turns of the process's loop, and tells the turns during which nothing else could run.
///
/// The loop tells a turn that was slow when it has ended. A thread beside the loop tells a turn that does not end.
@LoopActor
public final class LoopWatch {
  /// A turn that takes longer is told. All callers of the process have waited for it.
  static let slow = Duration.milliseconds(100)
  private let interval: Duration

  private let log: Log
  private let turns: Histogram
  private let stalls = Stalls()
  private var lookout: LookoutThread?
  private var longest = Duration.zero

  /// What the thread counts, and the loop publishes.
  private final class Stalls: Sendable {
    let count = Atomic<Int>(0)
  }

  /// Creates a watch with its metrics. It watches nothing before ``start()``.
  ///
  /// - Parameter interval: how often the thread looks.
  public init(_ metrics: Metrics, _ log: Log, every interval: Duration = .milliseconds(250)) {
    self.log = log
    self.interval = interval
    turns = metrics.histogram(
      "countersign_loop_turn_seconds", "The working time of one turn of the process's loop.",
      buckets: [0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30])
    metrics.counter("countersign_loop_stalls_total", "Turns of the loop that lasted longer than a second.") {
      [stalls] in Double(stalls.count.load(ordering: .relaxed))
    }
  }

  /// How many turns lasted longer than a second. Any thread may ask.
  nonisolated var stallCount: Int { stalls.count.load(ordering: .relaxed) }

  /// The longest turn since somebody asked last.
  public func takeLongest() -> Duration {
    defer { longest = .zero }
    return longest
  }

  /// Starts to watch. A process has one loop, so it starts one watch.
  public func start() {
    guard lookout == nil else { return }
    EventLoop.process.observeTurns { [turns, log, weak self] turn in
      turns.observe(turn.duration.inSeconds)
      if let self, turn.duration > longest { longest = turn.duration }
      guard turn.duration >= LoopWatch.slow else { return }
      log.warning(
        "slow turn of the loop",
        [
          "seconds": .double(turn.duration.inSeconds), "longest": .text(turn.longest),
          "longestSeconds": .double(turn.longestDuration.inSeconds), "jobs": .int(Int64(turn.jobs)),
        ])
    }
    let notice = ThreadsNotice(EventLoop.process.clockOfTurns)
    lookout = LookoutThread(every: interval) { [stalls, log] in
      guard let turn = EventLoop.process.unfinishedTurn, let lasts = notice.look(at: turn) else { return }
      stalls.count.add(1, ordering: .relaxed)
      log.error(
        "the loop is blocked", ["seconds": .double(lasts.inSeconds), "running": .text(turn.work)])
    }
  }

  /// Stops to watch.
  public func stop() {
    lookout?.stop()
    lookout = nil
    EventLoop.process.observeTurns { _ in }
  }
}

/// The notice of the thread, which alone uses it.
private final class ThreadsNotice: @unchecked Sendable {
  // Sendable is right: the loop's thread makes it and hands it over to the lookout's thread, and never looks at it
  // again.
  private var notice = StallNotice()
  private let clock: @Sendable () -> UInt64

  init(_ clock: @escaping @Sendable () -> UInt64) { self.clock = clock }

  func look(at turn: UnfinishedTurn) -> Duration? { notice.look(at: turn, now: clock()) }
}
