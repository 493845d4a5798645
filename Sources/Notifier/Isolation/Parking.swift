import EventLoop

/// When those who found no room are to come back: one after the other, at the pace at which room comes free.
struct Parking {
  /// The longest that one stays away before it asks again.
  static let longest: Duration = .seconds(60)

  /// Until when those who went away keep the place busy.
  private(set) var plannedUntil: Duration = .zero

  /// Returns how long the next one is to stay away.
  ///
  /// - Parameters:
  ///   - now: the time of a clock that never goes back.
  ///   - spacing: how long it takes until there is room for one more.
  mutating func park(_ now: Duration, _ spacing: Duration) -> Duration {
    plannedUntil = min(max(plannedUntil, now) + spacing, now + Self.longest)
    return max(.seconds(1), plannedUntil - now)
  }
}
