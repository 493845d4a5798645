/// How a job waits: it goes through as many delay queues as it takes, and runs a second or a tenth of the wait later than
/// was asked at most, never earlier.
public struct JobDelay: Sendable, Equatable {
  /// The queue of this tier comes next.
  public let tier: Duration
  /// When the wait ends, in milliseconds since 1970, if it goes on behind that queue; `nil` when the job runs then.
  public let due: Int64?

  /// Begins a wait.
  ///
  /// - Parameter now: milliseconds since 1970.
  public init(_ wait: Duration, now: Int64) {
    // Less than a second is not worth the tight loop.
    let wait = min(max(wait, DelayTiers.all[0]), Self.longest)
    let tolerance = max(.seconds(1), wait / 10)
    // The tolerance admits the shortest tier for each wait that is shorter than two seconds, and any other has one below.
    tier = DelayTiers.next(wait, lateBy: tolerance) ?? DelayTiers.all[0]
    // The last queue ends the wait, whatever the clock of the next worker says.
    due = tier >= wait ? nil : now + wait.milliseconds
  }

  /// Goes on with a wait; `nil` when it is over.
  ///
  /// - Parameters:
  ///   - due: when it ends, in milliseconds since 1970; `nil` is at once.
  ///   - now: milliseconds since 1970.
  public init?(due: Int64?, now: Int64) {
    guard let due, due > now else { return nil }
    let (left, isFar) = due.subtractingReportingOverflow(now)
    self.init(isFar ? Self.longest : .milliseconds(left), now: now)
  }

  /// Longer than any schedule; what is further off is a wrong clock's.
  private static let longest = Duration.seconds(30 * 86_400)
}

extension Duration {
  /// Whole milliseconds, the rest cut off.
  fileprivate var milliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}
