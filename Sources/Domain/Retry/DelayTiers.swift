/// The delays of the queues in which messages wait, for jobs and for deliveries.
///
/// Every message of a queue waits equally long, because a broker looks at a message's own time to live only when it
/// has come to the head. A wait of any length goes through several of these queues: a message that has not waited long
/// enough behind one queue is published to the next one. So no schedule and no answer of Apple's makes a new queue or
/// orphans one.
public enum DelayTiers {
  /// The shortest first. With more tiers a message would need fewer hops, but every broker would have more queues.
  public static let all: [Duration] = [1, 2, 5, 10, 30, 60, 300, 1800].map { .seconds($0) }

  /// Returns the longest tier that is no longer than a time; `nil` when all are longer.
  public static func longest(within time: Duration) -> Duration? { all.last { $0 <= time } }
}
