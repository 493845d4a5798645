/// How a delivery waits. It goes through as many delay queues as it needs, none longer than the rest of the wait. The
/// last second passes on the loop.
public enum DeliveryDelayQueue: Sendable, Equatable {
  /// The rest of the wait; less than a second.
  case onLoop(Duration)
  /// The queue of this tier comes next.
  case tier(Duration)

  /// Decides where a delivery waits next.
  ///
  /// - Parameters:
  ///   - due: the earliest time of the attempt, in milliseconds since 1970; `nil` is at once.
  ///   - now: milliseconds since 1970.
  /// - Returns: `nil` when it is due.
  public init?(due: Int64?, now: Int64) {
    guard let due, due > now else { return nil }
    let left = Duration.milliseconds(min(due - now, Self.longest))
    self = DelayTiers.longest(within: left).map(DeliveryDelayQueue.tier) ?? .onLoop(left)
  }

  /// Longer than any schedule: a later time comes from a wrong clock.
  private static let longest: Int64 = 30 * 86_400_000

  /// How long a postponed delivery waits, by how often it was postponed before: longer each time.
  public static func postponement(_ parks: Int) -> Duration { .seconds([1, 5, 30, 60][min(max(0, parks), 3)]) }

  /// How long a delivery waits for a person who mends its publisher's file, by how often it was postponed before: five
  /// minutes at most, since nobody tells it when the file is mended.
  public static func mending(_ parks: Int) -> Duration { .seconds([1, 5, 30, 60, 300][min(max(0, parks), 4)]) }
}
