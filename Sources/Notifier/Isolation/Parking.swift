import EventLoop

/// Tells deliveries that found no room when to come back: one after the other, at the pace at which room comes free.
struct Parking {
  /// The longest time that a delivery stays away before it asks again.
  static let longest: Duration = .seconds(60)

  /// Until when the deliveries that went away will use all room.
  private(set) var plannedUntil: Duration = .zero
  /// How many deliveries in a row went away for which there is no room within the longest time.
  private var beyond = 0

  /// Returns how long the next delivery stays away.
  ///
  /// - Parameters:
  ///   - now: the time of a clock that never goes back.
  ///   - spacing: how long it takes until there is room for one more delivery.
  mutating func park(_ now: Duration, _ spacing: Duration) -> Duration {
    plannedUntil = max(plannedUntil, now) + spacing
    guard plannedUntil > now + Self.longest else {
      beyond = 0
      return max(.seconds(1), plannedUntil - now)
    }
    plannedUntil = now + Self.longest
    // These do not come back in one moment, but evenly in the second half of the longest time: each by the golden
    // section of it before the one before.
    defer { beyond += 1 }
    return Self.longest - Self.longest / 2000 * (beyond % 1000 * 618 % 1000)
  }
}
