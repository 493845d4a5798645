import EventLoop

/// The lanes of all endpoints of this process; see ``Lane``.
@LoopActor
final class Lanes {
  /// Names an endpoint.
  struct Name: Hashable {
    let publisher: Int64
    let endpoint: String
  }

  /// Leave to make an attempt; must be ended or aborted.
  struct Pass {
    fileprivate let name: Name
    fileprivate let attempt: Int
  }

  /// What an endpoint's deliveries are told.
  enum Answer {
    case go(Pass)
    case park(Duration)
    /// The notifier stops.
    case handBack
  }

  @LoopActor
  private final class Entry {
    var lane = Lane()
    /// Those who wait for their turn, the first to come first.
    var waiting: [LoopSignal] = []

    func wake(_ count: Int) {
      for turn in waiting.prefix(count) { turn.notify() }
    }
  }

  private var entries: [Name: Entry] = [:]
  private let slowLimit: Int
  private let clock: @LoopActor () -> Duration
  private var slowCounted: (count: Int, until: Duration) = (0, .zero)
  private var cleanedAt: Duration = .zero

  /// How often it is looked for lanes that are over; with ten thousand of them it takes a millisecond.
  private static let cleaning: Duration = .seconds(60)

  /// - Parameters:
  ///   - slowLimit: how many attempts slow endpoints may have under way together, beyond one each.
  ///   - clock: a time that never goes back; `nil` is the machine's.
  init(slowLimit: Int, clock: (@LoopActor () -> Duration)? = nil) {
    self.slowLimit = slowLimit
    let start = ContinuousClock.now
    self.clock = clock ?? { ContinuousClock.now - start }
  }

  /// How many endpoints have a lane.
  var count: Int { entries.count }

  /// Asks for an attempt, and waits a moment for it if its turn is near.
  func enter(_ name: Name, limit: Int) async -> Answer {
    clean()
    let entry = entries[name] ?? Entry()
    entries[name] = entry
    let deadline = now + Lane.patience
    let turn = LoopSignal()
    var isQueued = false
    defer {
      if isQueued { entry.waiting.removeAll { $0 === turn } }
    }
    while !Task.isCancelled {
      let ahead = isQueued ? entry.waiting.firstIndex { $0 === turn } ?? 0 : entry.waiting.count
      let (admission, attempt) = entry.lane.ask(
        now, limit: limit, ahead: ahead, hasWaited: now >= deadline, isCrowded: slowCount >= slowLimit)
      switch admission {
      case .go: return .go(Pass(name: name, attempt: attempt))
      case .park(let time): return .park(time)
      case .wait:
        if !isQueued { entry.waiting.append(turn) }
        isQueued = true
        await turn.wait(atMost: max(.milliseconds(1), deadline - now))
      }
    }
    return .handBack
  }

  /// Notes the end of an attempt that was made.
  func end(_ pass: Pass, ranOutOfTime: Bool) {
    guard let entry = entries[pass.name] else { return }
    entry.lane.end(pass.attempt, now, ranOutOfTime: ranOutOfTime)
    // Two, since an answer may have widened the window.
    entry.wake(2)
  }

  /// Notes that an attempt was not made after all.
  func abort(_ pass: Pass) {
    guard let entry = entries[pass.name] else { return }
    entry.lane.abort(pass.attempt)
    entry.wake(1)
  }

  /// Gives a pass back because the rest of the fleet uses all that the endpoint allows.
  ///
  /// - Returns: how long to stay away.
  func abortForOthers(_ pass: Pass, limit: Int) -> Duration {
    abort(pass)
    return entries[pass.name]?.lane.parkForOthers(now, limit: limit) ?? .seconds(1)
  }

  /// Drops the lanes of endpoints that nothing was sent to for long: they come and go, and the process stays.
  private func clean() {
    let now = now
    guard now - cleanedAt >= Self.cleaning else { return }
    cleanedAt = now
    entries = entries.filter { !$0.value.waiting.isEmpty || !$0.value.lane.isOver(now) }
  }

  private var now: Duration { clock() }

  /// Counted ten times a second at most: there may be ten thousand endpoints.
  private var slowCount: Int {
    let now = now
    if now >= slowCounted.until {
      let count = entries.values.reduce(0) { $0 + ($1.lane.count > 1 && $1.lane.isSlow(now) ? $1.lane.count - 1 : 0) }
      slowCounted = (count, now + .milliseconds(100))
    }
    return slowCounted.count
  }
}
