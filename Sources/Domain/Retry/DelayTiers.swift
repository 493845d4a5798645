/// The delays of the queues in which messages wait, for jobs and for deliveries.
///
/// A queue holds every message for one time only, since a message's own time to live would only be looked at when it has
/// come to the head. A wait of any length is made of these: a message that has not waited long enough behind one queue
/// is published to the next one. So no schedule and no answer of Apple's makes a new queue or orphans one.
public enum DelayTiers {
  /// The shortest first. With more of them a message would hop less often, and every broker would have more queues.
  public static let all: [Duration] = [1, 2, 5, 10, 30, 60, 300, 1800].map { .seconds($0) }

  /// Returns the tier in which a message waits next.
  ///
  /// - Parameters:
  ///   - left: how long it still has to wait.
  ///   - tolerance: how much later the wait may end.
  /// - Returns: the shortest tier that ends the wait in time, or else the longest that does not end it; `nil` when all of
  ///   them end it too late.
  public static func next(_ left: Duration, lateBy tolerance: Duration = .zero) -> Duration? {
    all.first { $0 >= left && $0 <= left + tolerance } ?? all.last { $0 <= left }
  }
}
