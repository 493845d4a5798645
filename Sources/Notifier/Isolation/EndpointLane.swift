import EventLoop

/// The attempts that this process makes at one endpoint now, and how many at a time, decided by value.
///
/// An endpoint begins with two attempts at a time. Each answer allows one more, up to the endpoint's limit. If an
/// attempt runs out of time, the endpoint has one attempt at a time until it answers again. So a slow endpoint gets as
/// many webhooks as it can take. A dead endpoint holds one delivery of the prefetch, and none while slow and dead
/// endpoints hold too much of it. A delivery that finds no room waits a moment if its turn is near; otherwise it goes
/// away.
struct EndpointLane {
  /// The next step of a delivery.
  enum Admission: Equatable {
    /// Make the attempt; it is counted as running.
    case go
    /// Ask again when an attempt has ended, or after ``EndpointLane/patience``.
    case wait
    /// Come back after this long.
    case park(Duration)
  }

  /// The longest time that a delivery waits for its turn.
  static let patience: Duration = .milliseconds(500)
  /// The most deliveries that wait for their turn.
  static let longestLine = 200
  /// How long a lane is kept after the last webhook to its endpoint.
  static let memory: Duration = .seconds(300)
  /// An endpoint that takes longer than this is slow.
  static let slowness: Duration = .seconds(1)

  private(set) var window = 2
  /// The starts of the attempts under way, by number.
  private var running: [Int: Duration] = [:]
  /// How long the latest attempts took; `nil` before the first one has ended.
  private var usual: Duration?
  private var parking = Parking()
  private var next = 0
  /// Whether the last attempt that ended ran out of time.
  private var isDead = false
  /// When a delivery last asked for an attempt, or an attempt ended.
  private var lastUse: Duration = .zero

  /// How many attempts are under way.
  var count: Int { running.count }

  /// Whether the endpoint is slow. All slow endpoints together must not hold the whole prefetch.
  func isSlow(_ now: Duration) -> Bool { expected(now) > Self.slowness }

  /// How many attempts count against the part of the prefetch that slow endpoints share.
  ///
  /// The first attempt does not count, as every endpoint may have one; it counts if the last attempt ran out of time.
  func slowPlaces(_ now: Duration) -> Int { isSlow(now) ? max(0, count - (isDead ? 0 : 1)) : 0 }

  /// Whether the lane may be dropped: no attempt is under way or planned, and none was for a while.
  func isOver(_ now: Duration) -> Bool {
    running.isEmpty && parking.plannedUntil <= now && lastUse + Self.memory <= now
  }

  /// Decides whether an attempt may begin.
  ///
  /// - Parameters:
  ///   - now: the time of a clock that never goes back.
  ///   - limit: the endpoint's own.
  ///   - ahead: how many deliveries wait for their turn before this one.
  ///   - hasWaited: whether this delivery has waited in vain.
  ///   - isCrowded: whether slow endpoints hold all of their part of the prefetch.
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
      // The endpoint answers again: the time of its silence says nothing about its next answer.
      if window == 1, took < Self.slowness { usual = took }
      window = min(window + 1, 1000)
    }
  }

  /// Notes that an attempt was not made after all.
  mutating func abort(_ attempt: Int) { running[attempt] = nil }

  /// Returns how long to stay away while the rest of the fleet uses all attempts that the endpoint allows.
  mutating func parkForOthers(_ now: Duration, limit: Int) -> Duration {
    parking.park(now, expected(now) / max(1, limit))
  }

  /// How long an attempt takes: the mean of the latest ones, or the age of the oldest one under way if that is more.
  private func expected(_ now: Duration) -> Duration {
    let eldest = running.values.min().map { now - $0 } ?? .zero
    return max(usual ?? .milliseconds(50), eldest)
  }
}
