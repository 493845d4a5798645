import Formats

/// Whether Apple takes an app's key in one environment, as this worker knows it. A state machine by value (decision
/// 0037). Times are milliseconds since 1970.
///
/// A key that Apple refuses is a mistake that only a person can mend. Until then one call in a while finds out whether
/// it is mended, and everybody else waits.
struct AppStanding: Equatable {
  private enum State: Equatable {
    case unknown
    /// Apple has taken the key.
    case accepted(at: Int64)
    case refused(since: Int64, nextProbe: Int64)
  }

  private var state = State.unknown

  /// How long one good answer says that Apple takes the key. Longer, and a key that is refused from now on would make
  /// ids look invalid for as long; shorter, and a customer with invalid ids could have a second call made for each.
  static let memory: Int64 = 5_000
  /// The first calls after a refusal come sooner: somebody may be mending it, and Apple refuses by mistake at times.
  static let firstMinute: Int64 = 60_000
  static let shortestPause: Int64 = 5_000
  static let pause: Int64 = 60_000
  /// A job waits half as long as the refusal has lasted, and no longer than this unless many wait
  /// (``JobRetryPolicy/waitingRunsPerSecond``).
  static let longestWait: Int64 = 300_000

  /// When Apple began to refuse the key; `nil` if it does not.
  var refusedSince: Int64? {
    if case .refused(let since, _) = state { since } else { nil }
  }

  /// Whether Apple has taken the key a moment ago, so that a refusal now is about something else.
  func isAccepted(at now: Int64) -> Bool {
    if case .accepted(let time) = state { (time - Self.memory...time + Self.memory).contains(now) } else { false }
  }

  /// Whether a call may be made now.
  func allowsCall(at now: Int64) -> Bool {
    guard case .refused(_, let next) = state else { return true }
    // A clock that was set back must not put the next call off.
    return now >= next || next - now > Self.pause
  }

  /// Asks whether a call may be made. The call that may be made in spite of a refusal is the only one for a while.
  ///
  /// - Returns: how long to wait; `nil` when the call may be made.
  mutating func admit(at now: Int64) -> Duration? {
    guard case .refused(let since, _) = state else { return nil }
    guard allowsCall(at: now) else { return wait(at: now) }
    state = .refused(since: since, nextProbe: now + Self.pause(since: since, now))
    return nil
  }

  /// Notes that Apple has taken the key.
  ///
  /// - Returns: whether it refused it before.
  mutating func accept(at now: Int64) -> Bool {
    let wasRefused = refusedSince != nil
    state = .accepted(at: now)
    return wasRefused
  }

  /// Notes that Apple has refused the key.
  ///
  /// - Returns: whether this is news.
  mutating func refuse(at now: Int64) -> Bool {
    let since = refusedSince
    state = .refused(since: since ?? now, nextProbe: now + Self.pause(since: since ?? now, now))
    return since == nil
  }

  /// How long a job waits.
  func wait(at now: Int64) -> Duration {
    Self.wait(since: refusedSince ?? now, at: now)
  }

  /// How long a job waits for a person, by the time since when there is something to mend.
  static func wait(since: Int64, at now: Int64) -> Duration {
    .milliseconds(min(longestWait, max(shortestPause, max(0, now.subtracting(since)) / 2)))
  }

  private static func pause(since: Int64, _ now: Int64) -> Int64 {
    now - since < firstMinute ? shortestPause : pause
  }
}
