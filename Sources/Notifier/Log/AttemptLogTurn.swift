/// Decides by value when a notifier looks after the log of attempts.
struct AttemptLogTurn: Equatable {
  /// When the log was looked after; `nil` when it must be soon.
  private var keptAt: ContinuousClock.Instant?

  /// How often the log is looked after.
  private static let interval = Duration.seconds(600)
  /// How long after a failure it is looked after again.
  private static let pause = Duration.seconds(10)

  /// Whether it must be looked after.
  func isDue(at now: ContinuousClock.Instant) -> Bool { keptAt.map { now - $0 >= Self.interval } ?? true }

  /// Notes that somebody looks.
  mutating func begin(at now: ContinuousClock.Instant) { keptAt = now }

  /// Notes that a look has failed.
  mutating func fail(at now: ContinuousClock.Instant) { keptAt = now - Self.interval + Self.pause }

  /// Lets the next look come at once.
  mutating func hasten() { keptAt = nil }
}
