import EventLoop

/// Tells deliveries that found no room when to come back: one after the other, at the pace at which room comes free.
struct Parking {
  /// The longest time that a delivery stays away before it asks again.
  static let longest: Duration = .seconds(60)

  /// Until when the deliveries that went away will use all room.
  private(set) var plannedUntil: Duration = .zero

  /// Returns how long the next delivery stays away.
  ///
  /// - Parameters:
  ///   - now: the time of a clock that never goes back.
  ///   - spacing: how long it takes until there is room for one more delivery.
  mutating func park(_ now: Duration, _ spacing: Duration) -> Duration {
    plannedUntil = min(max(plannedUntil, now) + spacing, now + Self.longest)
    return max(.seconds(1), plannedUntil - now)
  }
}
