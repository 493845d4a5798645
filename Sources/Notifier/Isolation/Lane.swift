import EventLoop

/// What this process does with one endpoint now, and how much of it at a time, decided by value.
///
/// An endpoint begins with two attempts at a time and may have one more with every answer, up to its limit; one that let
/// an attempt run out of time is left with one, until it answers. So a slow endpoint gets what it can take, and a dead one
/// holds one delivery of the prefetch, and none while slow and dead ones hold too much of it. What finds no room is told to
/// wait a moment if its turn is near, and to go away otherwise.
struct Lane {
  /// What a delivery is to do.
  enum Admission: Equatable {
    /// Make the attempt; it is counted as running.
    case go
    /// Ask again when an attempt has ended, or after ``Lane/patience``.
    case wait
    /// Come back after this long.
    case park(Duration)
  }

  /// The longest that a delivery is held for its turn.
  static let patience: Duration = .milliseconds(500)
  /// The most that are held for their turn.
  static let longestLine = 200
  /// How long what was learnt of an endpoint is kept that nothing is sent to.
  static let memory: Duration = .seconds(300)
  /// An endpoint that takes longer counts as slow.
  static let slowness: Duration = .seconds(1)

  private(set) var window = 2
  /// The starts of the attempts under way, by number.
  private var running: [Int: Duration] = [:]
  /// How long the attempts of late took; `nil` before the first has ended.
  private var usual: Duration?
  private var parking = Parking()
  private var next = 0
  /// Whether the last attempt that ended ran out of time.
  private var isDead = false
  /// When it was last asked, or an attempt ended.
  private var lastUse: Duration = .zero

  /// How many attempts are under way.
  var count: Int { running.count }

  /// Whether it lets attempts take their time, so that all such endpoints together must not hold everything.
  func isSlow(_ now: Duration) -> Bool { expected(now) > Self.slowness }

  /// How many of its attempts count against what slow endpoints may hold together: all but the first, which any endpoint
  /// may have, unless the last one ran out of time.
  func slowPlaces(_ now: Duration) -> Int { isSlow(now) ? max(0, count - (isDead ? 0 : 1)) : 0 }

  /// Whether it may be forgotten: nothing is under way or planned, and nothing was for a while.
  func isOver(_ now: Duration) -> Bool {
    running.isEmpty && parking.plannedUntil <= now && lastUse + Self.memory <= now
  }

  /// Decides whether an attempt may begin.
  ///
  /// - Parameters:
  ///   - now: the time of a clock that never goes back.
  ///   - limit: the endpoint's own.
  ///   - ahead: how many wait for their turn before this one.
  ///   - hasWaited: whether this one has waited in vain.
  ///   - isCrowded: whether slow endpoints hold as much as they may.
  /// - Returns: the decision, and for `go` the number of the attempt.
  mutating func ask(
    _ now: Duration, limit: Int, ahead: Int, hasWaited: Bool, isCrowded: Bool
  ) -> (admission: Admission, attempt: Int) {
    lastUse = now
    let isHeldBack = isCrowded && isSlow(now) && (isDead || !running.isEmpty)
    if running.count + ahead < min(window, limit), !isHeldBack {
      next += 1
      running[next] = now
      return (.go, next)
    }
    let spacing = expected(now) / min(window, limit)
    if !hasWaited, ahead < Self.longestLine, spacing * (ahead + 1) <= Self.patience { return (.wait, 0) }
    return (.park(parking.park(now, spacing)), 0)
  }

  /// Notes the end of an attempt that was made.
  mutating func end(_ attempt: Int, _ now: Duration, ranOutOfTime: Bool) {
    guard let start = running.removeValue(forKey: attempt) else { return }
    lastUse = now
    let took = now - start
    usual = usual.map { ($0 * 7 + took) / 8 } ?? took
    isDead = ranOutOfTime
    if ranOutOfTime {
      window = 1
      usual = took
    } else {
      // One that answers again is not judged by how long it did not.
      if window == 1, took < Self.slowness { usual = took }
      window = min(window + 1, 1000)
    }
  }

  /// Notes that an attempt was not made after all.
  mutating func abort(_ attempt: Int) { running[attempt] = nil }

  /// Returns how long to stay away when others in the fleet use all that the endpoint allows.
  mutating func parkForOthers(_ now: Duration, limit: Int) -> Duration {
    parking.park(now, expected(now) / max(1, limit))
  }

  /// How long an attempt takes: as those before, or as long as the one that is out longest, whichever is more.
  private func expected(_ now: Duration) -> Duration {
    let eldest = running.values.min().map { now - $0 } ?? .zero
    return max(usual ?? .milliseconds(50), eldest)
  }
}
