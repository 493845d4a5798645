import Domain
import EventLoop

/// The events that the broker has confirmed of late.
///
/// A broker that is killed and loses its data between a confirm and the delivery to whoever consumes takes an event along that
/// nobody has seen, and of which Redis believes that it was told. So what was confirmed shortly before a connection was lost is
/// told again, with the same id.
@LoopActor
final class RecentEvents {
  /// Longer than consumers need to come back to a broker that has just started again (`Backoff`), and to take what waits there.
  static let kept = Duration.seconds(10)
  /// Some 3 MB, and at full speed still more than the second that a busy broker needs from a confirm to the delivery.
  static let most = 4096

  private var events: [(confirmedAt: ContinuousClock.Instant, event: PurchaseEvent)] = []
  private var first = 0

  /// Notes an event that the broker has confirmed now.
  func add(_ event: PurchaseEvent, at now: ContinuousClock.Instant = .now) {
    while first < events.count, events.count - first >= Self.most || events[first].confirmedAt < now - Self.kept {
      first += 1
    }
    if first > events.count / 2 {
      events.removeFirst(first)
      first = 0
    }
    events.append((now, event))
  }

  /// Takes what may be lost with a connection that was lost now.
  func take(at now: ContinuousClock.Instant = .now) -> [PurchaseEvent] {
    defer { (events, first) = ([], 0) }
    return events[first...].filter { $0.confirmedAt >= now - Self.kept }.map(\.event)
  }
}
