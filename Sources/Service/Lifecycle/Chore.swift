public import EventLoop

/// Work that a role does again and again, one look at a time.
@LoopActor
public final class Chore: RoleService {
  /// What becomes of a look that runs when the role stops.
  public enum Ending: Sendable {
    /// It ends within the grace period.
    case finished
    /// It is broken off at once, and nobody waits for it: the next look of any process does the rest.
    case dropped
    /// It ends, and other looks follow it until the stop: what runs needs them until its end.
    case last
  }

  private let interval: Duration
  private let first: Duration
  private let ending: Ending
  private let place: StaticString
  private let isReady: @LoopActor () -> Bool
  private let look: @LoopActor () async -> Void
  private var phase = ServicePhase.new
  private var turn = LookTurn()
  private var timer: LoopTimer?
  /// When the next look comes.
  private var due = ContinuousClock.now
  private let running = RunningTasks()

  /// Creates a chore. Nothing happens before ``start()``.
  ///
  /// - Parameters:
  ///   - interval: the time from one look to the next.
  ///   - first: the time until the first look. Without it, the processes of a fleet begin at different times.
  ///   - place: who looks, for the log of slow turns.
  ///   - isReady: whether a look could do anything now. If not, the next one asks again.
  public init(
    every interval: Duration, after first: Duration? = nil, _ ending: Ending = .finished,
    at place: StaticString = #fileID, isReady: @escaping @LoopActor () -> Bool = { true },
    look: @escaping @LoopActor () async -> Void
  ) {
    self.interval = interval
    self.first = first ?? interval * Double.random(in: 0.5...1)
    (self.ending, self.place, self.isReady, self.look) = (ending, place, isReady, look)
  }

  public func start() {
    guard phase.start() else { return }
    let timer = LoopTimer(at: place) { [weak self] in self?.fire() }
    due = .now + first
    timer.start(after: first, every: interval)
    self.timer = timer
  }

  /// Looks at once, or right after the look that runs: somebody knows that there is something to find.
  public func lookNow() { ask(isHint: true) }

  /// Lets the next look come earlier than it would. It never puts a look off: hints without end would keep it away.
  public func look(after pause: Duration) {
    guard let timer, .now + pause < due else { return }
    due = .now + pause
    timer.start(after: pause, every: interval)
  }

  public func close() {
    guard ending != .last, phase.close() else { return }
    closeTimer()
  }

  public func stop(within grace: Duration) async {
    guard phase.stop() else { return }
    closeTimer()
    if ending == .dropped { running.cancel() } else { await running.finish(within: grace) }
  }

  private func closeTimer() {
    timer?.close()
    timer = nil
  }

  private func fire() {
    due = .now + interval
    ask()
  }

  private func ask(isHint: Bool = false) {
    guard turn.ask(isHint: isHint, isReady: phase == .running && isReady()) else { return }
    running.start { [self] in
      await look()
      if turn.end() { ask() }
    }
  }
}
