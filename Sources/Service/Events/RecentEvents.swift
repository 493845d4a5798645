public import Domain
public import EventLoop

/// The events that the broker has confirmed of late.
///
/// A broker may be killed and lose its data between the confirm and the delivery to a consumer. Then no consumer has
/// seen the event, but the ledger has taken it out of the outbox. So the process publishes an event again, with the
/// same id, if the broker confirmed it shortly before a connection was lost.
@LoopActor
public final class RecentEvents {
  /// Longer than consumers need to come back to a broker that has just started again (`Backoff`), and to take the
  /// messages that wait there.
  public nonisolated static let kept = Duration.seconds(10)
  /// Some 3 MB. Even at full speed this holds more than the second that a busy broker needs from a confirm to the
  /// delivery.
  public nonisolated static let most = 4096

  private struct Entry {
    let confirmedAt: ContinuousClock.Instant
    let event: Event
  }

  private var events: [Entry] = []
  private var first = 0

  /// Creates an empty list.
  public init() {}

  /// Notes an event that the broker has just confirmed.
  public func add(_ event: Event, at now: ContinuousClock.Instant = .now) {
    while first < events.count, events.count - first >= Self.most || events[first].confirmedAt < now - Self.kept {
      first += 1
    }
    if first > events.count / 2 {
      events.removeFirst(first)
      first = 0
    }
    events.append(Entry(confirmedAt: now, event: event))
  }

  /// Takes the events that the broker may have lost together with a connection that has just ended.
  public func take(at now: ContinuousClock.Instant = .now) -> [Event] {
    defer { (events, first) = ([], 0) }
    return events[first...].filter { $0.confirmedAt >= now - Self.kept }.map(\.event)
  }
}
