/// How a delivery waits: it goes through as many delay queues as it takes, none longer than what is left, and the last
/// second passes on the loop.
public enum DeliveryDelay: Sendable, Equatable {
  /// Less than a second is left; the time.
  case onLoop(Duration)
  /// The queue of this tier comes next.
  case tier(Duration)

  /// Decides where a delivery waits next.
  ///
  /// - Parameters:
  ///   - due: before when it must not be attempted, in milliseconds since 1970; `nil` is at once.
  ///   - now: milliseconds since 1970.
  /// - Returns: `nil` when it is due.
  public init?(due: Int64?, now: Int64) {
    guard let due, due > now else { return nil }
    let left = Duration.milliseconds(min(due - now, Self.longest))
    self = DelayTiers.longest(within: left).map(DeliveryDelay.tier) ?? .onLoop(left)
  }

  /// Longer than any schedule; what is further off is a wrong clock's.
  private static let longest: Int64 = 30 * 86_400_000

  /// Where a delivery waits that was put off, by how often it was before: longer each time.
  public static func parking(_ parks: Int) -> Duration { .seconds([1, 5, 30, 60][min(max(0, parks), 3)]) }
}
