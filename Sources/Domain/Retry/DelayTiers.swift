/// The delays of the queues in which messages wait, for jobs and for deliveries.
///
/// A queue holds every message for one time only: RabbitMQ looks at a message's own time to live only when it has come to
/// the head. So a wait of any length is made of these. A message that has not waited long enough behind one queue is
/// published to the next one. No schedule and no answer of Apple's makes a new queue or orphans one.
public enum DelayTiers {
  /// The shortest first. With more of them a message would hop less often, and every broker would have more queues.
  public static let all: [Duration] = [1, 2, 5, 10, 30, 60, 300, 1800].map { .seconds($0) }

  /// Returns the longest tier that is no longer than a time; `nil` when all are longer.
  public static func longest(within time: Duration) -> Duration? { all.last { $0 <= time } }
}
