/// How a job waits at the broker: in which delay queues. It goes through as many as it needs. It never runs early, and
/// at most a second or a tenth of the wait late, unless its caller asks for one queue only.
public struct JobDelayQueue: Sendable, Equatable {
  /// The queue of this tier comes next.
  public let tier: Duration
  /// When the wait ends, in milliseconds since 1970, if it goes on behind that queue; `nil` when the job runs then.
  public let due: Int64?

  /// Begins a wait.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - isInLine: whether the job waits for its turn. Such waits are rounded ten times less, for others come right
  ///     behind: with waits of an hour in steps of five minutes, the turns of five minutes would come in one moment.
  public init(_ wait: Duration, now: Int64, isInLine: Bool = false) {
    let wait = min(max(wait, .milliseconds(1)), Self.longest)
    let tolerance = isInLine ? max(.seconds(1), wait / 100) : Self.tolerance(of: wait)
    // One queue, if its delay is near enough. Otherwise a sum of few: a multiple of the longest delay that fits into
    // the tolerance.
    let near = DelayTiers.all.first { $0 >= wait && $0 <= wait + tolerance }
    self.init(
      whole: near ?? Self.roundUp(wait, to: DelayTiers.longest(within: tolerance) ?? DelayTiers.all[0]), now: now)
  }

  /// A wait in one queue, which may be up to six times as long as was asked, and is half an hour at most.
  public init(atLeast wait: Duration) {
    (tier, due) = (DelayTiers.all.first { $0 >= wait } ?? DelayTiers.all[DelayTiers.all.count - 1], nil)
  }

  /// How much later than was asked a wait may end: a second or a tenth of it.
  public static func tolerance(of wait: Duration) -> Duration { max(.seconds(1), wait / 10) }

  /// Goes on with a wait; `nil` when it is over.
  ///
  /// - Parameters:
  ///   - due: when it ends, in milliseconds since 1970; `nil` is at once.
  ///   - now: milliseconds since 1970.
  public init?(due: Int64?, now: Int64) {
    guard let due, due > now else { return nil }
    let (left, isFar) = due.subtractingReportingOverflow(now)
    let wait = isFar ? Self.longest : min(.milliseconds(left), Self.longest)
    self.init(whole: Self.roundUp(wait, to: DelayTiers.all[0]), now: now)
  }

  /// - Parameter wait: a sum of tiers.
  private init(whole wait: Duration, now: Int64) {
    tier = DelayTiers.longest(within: wait) ?? DelayTiers.all[0]
    // The last queue ends the wait, even if the clock of the next worker disagrees.
    due = tier >= wait ? nil : now + Self.milliseconds(wait)
  }

  private static func roundUp(_ wait: Duration, to unit: Duration) -> Duration {
    unit * ((milliseconds(wait) + milliseconds(unit) - 1) / milliseconds(unit))
  }

  /// Whole milliseconds, rounded up.
  static func milliseconds(_ time: Duration) -> Int64 {
    let (seconds, attoseconds) = time.components
    return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
  }

  /// Longer than any schedule: a later time comes from a wrong clock.
  private static let longest = Duration.seconds(30 * 86_400)
}
