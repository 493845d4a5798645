/// Who may run beside whom in a process, by value (decision 0034). Times are of one monotonic clock.
///
/// A suspect holds the others: while it does, none of them begins. A hold ends after a while, even if the suspect's
/// run does not, and the others get their time before the next hold. So nobody who makes a suspect slow can make the
/// others stand still.
struct SuspectTurns {
  /// A hold lasts so long at most. The wait for the running others counts too: somebody may make these slow.
  static let longestHold = Duration.seconds(3)
  /// Between two holds, the others have so many times the time of the first one. So holds take a quarter of the time.
  static let othersTime = 3

  /// The hold of one suspect.
  struct Hold: Equatable {
    let number: Int
    let began: Duration
    /// How long it may last; `nil` is until the suspect's run has ended.
    let limit: Duration?
  }

  /// The runs under way, without a suspect that holds the others.
  private(set) var running = 0
  private(set) var hold: Hold?
  private var othersUntil: Duration?
  private var holds = 0

  /// How long a suspect of so many crashes may hold the others; `nil` is until its run has ended.
  ///
  /// If the process dies of the last run before a suspect is given up, nobody else may be the cause. So this run has no
  /// limit but its own.
  static func longestHold(crashes: Int) -> Duration? { crashes < Suspects.givenUpFrom - 1 ? longestHold : nil }

  /// Begins an ordinary run, unless a suspect holds the others.
  mutating func enter() -> Bool {
    guard hold == nil else { return false }
    running += 1
    return true
  }

  /// Begins one more ordinary run for one that has not ended, and so need not wait.
  mutating func enterBeside() { running += 1 }

  /// Ends an ordinary run.
  mutating func leave() { running -= 1 }

  /// Begins the hold of a suspect. Returns `nil` while another one has a hold, or the others have their time.
  mutating func enterAlone(crashes: Int, at now: Duration) -> Hold? {
    guard hold == nil, rest(at: now) == .zero else { return nil }
    holds += 1
    hold = Hold(number: holds, began: now, limit: Self.longestHold(crashes: crashes))
    return hold
  }

  /// Whether the suspect with this hold may begin: the others have ended, or it no longer holds them.
  func mayBegin(_ own: Hold) -> Bool { hold != own || running == 0 }

  /// Ends a hold that is over. Its suspect is an ordinary run from now on.
  mutating func release(_ own: Hold, at now: Duration) {
    guard hold == own else { return }
    running += 1
    endHold(at: now)
  }

  /// Ends the run of a suspect, and its hold if that has not ended before.
  mutating func leaveAlone(_ own: Hold, at now: Duration) {
    if hold == own { endHold(at: now) } else { running -= 1 }
  }

  /// How long the next suspect has to wait, because the others have their time.
  func rest(at now: Duration) -> Duration { othersUntil.map { max(.zero, $0 - now) } ?? .zero }

  private mutating func endHold(at now: Duration) {
    if let hold { othersUntil = now + max(.zero, now - hold.began) * Self.othersTime }
    hold = nil
  }
}
