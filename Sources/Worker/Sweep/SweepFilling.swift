import Domain

/// The lanes whose queues the sweep fills again, look by look, and when it looks next. A state machine by value.
struct SweepFilling: Equatable {
  /// What one look looks at.
  struct Round: Equatable {
    var lanes: [JobLane]
    /// Whether it also looks at the ledger.
    var isWhole: Bool
  }

  private var pauses: [JobLane: Duration] = [:]
  private var lastWhole: ContinuousClock.Instant?

  /// Begins a look. Between two looks at everything, only those lanes are looked at that the sweep fills.
  ///
  /// - Parameter interval: the time between two looks at everything.
  mutating func begin(at now: ContinuousClock.Instant, every interval: Duration) -> Round {
    let isWhole = pauses.isEmpty || lastWhole.map { now >= $0 + interval } ?? true
    if isWhole { lastWhole = now }
    return Round(lanes: JobLane.allCases.filter { isWhole || pauses[$0] != nil }, isWhole: isWhole)
  }

  /// Whether the sweep fills the queue of a lane.
  func isFilling(_ lane: JobLane) -> Bool { pauses[lane] != nil }

  /// Notes how long a lane waits for its next look; `nil` if there is nothing more to do.
  mutating func note(_ pause: Duration?, of lane: JobLane) { pauses[lane] = pause }

  /// How long the next look may wait; `nil` if it comes with the next one at everything.
  var pause: Duration? { pauses.values.min() }
}
