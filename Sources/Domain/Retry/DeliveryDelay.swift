/// How a delivery waits for a time of its own although queues hold every message for one time only: it goes through as
/// many delay queues as it takes, none longer than what is left, and the last second passes on the loop.
public enum DeliveryDelay: Sendable, Equatable {
  /// Less than a second is left; the time.
  case onLoop(Duration)
  /// The queue of this tier comes next.
  case tier(Duration)

  /// The delays of the queues, the shortest first. A wait of any length is made of these, so that a change of a schedule
  /// makes no new queue and orphans none.
  public static let tiers: [Duration] = [1, 5, 30, 60, 300, 1800].map { .seconds($0) }

  /// Decides where a delivery waits next.
  ///
  /// - Parameters:
  ///   - due: before when it must not be attempted, in milliseconds since 1970; `nil` is at once.
  ///   - now: milliseconds since 1970.
  /// - Returns: `nil` when it is due.
  public init?(due: Int64?, now: Int64) {
    guard let due, due > now else { return nil }
    let left = Duration.milliseconds(min(due - now, Self.longest))
    self = Self.tiers.last { $0 <= left }.map(DeliveryDelay.tier) ?? .onLoop(left)
  }

  /// Longer than any schedule; what is further off is a wrong clock's.
  private static let longest: Int64 = 30 * 86_400_000

  /// Where a delivery waits that was put off, by how often it was before: longer each time.
  public static func parking(_ parks: Int) -> Duration { tiers[min(max(0, parks), 3)] }
}
