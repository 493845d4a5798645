public import EventLoop
public import Ledger

/// An event on its way to all subscribers. It has ended when each of them has the event or misses it.
@LoopActor
public final class EventCopies {
  private var underWay: Int
  private var missed: [OwedEvents.Missed] = []
  private var whenEnded: (@LoopActor ([OwedEvents.Missed]) -> Void)?

  /// - Parameter count: how many subscribers there are.
  init(_ count: Int) { underWay = count }

  /// Creates copies that have ended.
  ///
  /// - Parameter missed: who may miss the event.
  public init(missed: [OwedEvents.Missed] = []) { (underWay, self.missed) = (0, missed) }

  /// Notes that a subscriber has the event, or may miss it.
  func end(_ missed: OwedEvents.Missed?) {
    if let missed { self.missed.append(missed) }
    underWay -= 1
    guard underWay == 0, let whenEnded else { return }
    self.whenEnded = nil
    whenEnded(self.missed)
  }

  /// Calls `then` once with those who may miss the event: when the last copy ends, or at once if it has ended.
  func whenEnded(_ then: @escaping @LoopActor ([OwedEvents.Missed]) -> Void) {
    if underWay == 0 { then(missed) } else { whenEnded = then }
  }
}
