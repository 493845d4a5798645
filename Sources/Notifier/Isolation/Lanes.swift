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
    fileprivate let start: Duration
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

  /// What a publisher's endpoints have together.
  @LoopActor
  private final class Share {
    var value: PublisherShare
    /// Those who wait for their turn, the first to come first.
    var waiting: [LoopSignal] = []

    init(concurrency: Int) { value = PublisherShare(concurrency: concurrency) }

    func ask(_ now: Duration, _ turn: LoopSignal, hasWaited: Bool) -> Lane.Admission {
      let place = waiting.firstIndex { $0 === turn }
      let admission = value.ask(now, ahead: place ?? waiting.count, hasWaited: hasWaited)
      if admission == .wait, place == nil { waiting.append(turn) }
      return admission
    }

    /// Leaves the line, so that others come forward.
    func leave(_ turn: LoopSignal) {
      guard let place = waiting.firstIndex(where: { $0 === turn }) else { return }
      waiting.remove(at: place)
      wake()
    }

    /// Wakes those for whom there is room.
    func wake() {
      for turn in waiting.prefix(max(0, value.limit - value.count)) { turn.notify() }
    }
  }

  private var entries: [Name: Entry] = [:]
  private var shares: [Int64: Share] = [:]
  private let concurrency: Int
  private let slowLimit: Int
  private let clock: @LoopActor () -> Duration
  private var slowCounted: (count: Int, until: Duration) = (0, .zero)
  private var cleanedAt: Duration = .zero

  /// How often it is looked for lanes that are over; with ten thousand of them it takes a millisecond.
  private static let cleaning: Duration = .seconds(60)

  /// - Parameters:
  ///   - concurrency: the deliveries that the process holds at a time. A publisher gets a quarter of them for its attempts,
  ///     and slow endpoints half, beyond one each.
  ///   - clock: a time that never goes back; `nil` is the machine's.
  init(concurrency: Int, clock: (@LoopActor () -> Duration)? = nil) {
    self.concurrency = concurrency
    slowLimit = max(1, concurrency / 2)
    let start = ContinuousClock.now
    self.clock = clock ?? { ContinuousClock.now - start }
  }

  /// How many endpoints have a lane.
  var count: Int { entries.count }

  /// Asks for an attempt, and waits a moment for it if its turn is near.
  func enter(_ name: Name, limit: Int) async -> Answer {
    clean()
    var entry = entries[name] ?? Entry()
    entries[name] = entry
    let share = shares[name.publisher] ?? Share(concurrency: concurrency)
    shares[name.publisher] = share
    let deadline = now + Lane.patience
    let turn = LoopSignal()
    var isQueued = false
    defer {
      if isQueued { entry.waiting.removeAll { $0 === turn } }
      share.leave(turn)
    }
    while !Task.isCancelled {
      switch share.ask(now, turn, hasWaited: now >= deadline) {
      case .go: break
      case .park(let time): return .park(time)
      case .wait:
        await turn.wait(atMost: max(.milliseconds(1), deadline - now))
        continue
      }
      if !isQueued {
        // It may have been dropped while this one waited for its publisher's turn.
        entry = entries[name] ?? entry
        entries[name] = entry
      }
      let ahead = isQueued ? entry.waiting.firstIndex { $0 === turn } ?? 0 : entry.waiting.count
      let start = now
      let (isCrowded, before) = (slowCount >= slowLimit, entry.lane.slowPlaces(start))
      let (admission, attempt) = entry.lane.ask(
        start, limit: limit, ahead: ahead, hasWaited: start >= deadline, isCrowded: isCrowded)
      switch admission {
      case .go:
        share.value.begin(start)
        slowCounted.count += entry.lane.slowPlaces(start) - before
        return .go(Pass(name: name, attempt: attempt, start: start))
      case .park(let time): return .park(time)
      case .wait:
        if !isQueued { entry.waiting.append(turn) }
        isQueued = true
        // Another endpoint's may take the turn.
        share.leave(turn)
        await turn.wait(atMost: max(.milliseconds(1), deadline - now))
      }
    }
    return .handBack
  }

  /// Notes the end of an attempt that was made.
  func end(_ pass: Pass, ranOutOfTime: Bool) {
    leave(pass, now)
    guard let entry = entries[pass.name] else { return }
    entry.lane.end(pass.attempt, now, ranOutOfTime: ranOutOfTime)
    // Two, since an answer may have widened the window.
    entry.wake(2)
  }

  /// Notes that an attempt was not made after all.
  func abort(_ pass: Pass) {
    leave(pass, nil)
    guard let entry = entries[pass.name] else { return }
    entry.lane.abort(pass.attempt)
    entry.wake(1)
  }

  private func leave(_ pass: Pass, _ end: Duration?) {
    guard let share = shares[pass.name.publisher] else { return }
    share.value.end(begunAt: pass.start, end)
    share.wake()
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
      let count = entries.values.reduce(0) { $0 + $1.lane.slowPlaces(now) }
      slowCounted = (count, now + .milliseconds(100))
    }
    return slowCounted.count
  }
}
