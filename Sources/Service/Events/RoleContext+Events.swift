public import AMQP
import Configuration
public import Domain
import EventLoop
import Messaging
import Observability

extension RoleContext {
  /// Makes the one way out for the role's events.
  ///
  /// A role has one: two would not keep the order of events, and each would publish again what both have.
  ///
  /// - Parameters:
  ///   - publisher: the connection to the fleet's own queue.
  ///   - onConfirm: called when the own queue has an event.
  ///   - settle: takes an event out of the outbox, by its id.
  public func makeOutlet(
    _ publisher: AMQPPublisher, _ subscribers: EventSubscribers,
    onConfirm: @escaping @LoopActor (Event) -> Void = { _ in }, settle: @escaping @LoopActor (EventId) -> Void
  ) -> EventOutlet {
    precondition(!hasOutlet, "the \(role) has a way out for events already")
    hasOutlet = true
    let outlet = EventOutlet(
      publisher, queue: { [queues = deliveryQueues] in queues.next(of: $0.publisherId) },
      EventOutlet.Subscribers(subscribers), log, tracer, onConfirm: onConfirm, settle: settle,
      onReduced: EventOutlet.reducedEvents(metrics, doors.topics),
      telling: { [weak self] in self?.telling(of: $0.publisherId, since: $0.time) ?? .told }, onKept: countKept())
    publisher.follow { [weak outlet] in outlet?.lost.note($0) }
    return outlet
  }

  /// What becomes of an event of a publisher's that is about to leave the fleet.
  ///
  /// - Parameter time: when it happened, in milliseconds since 1970; `nil` if that is not known.
  public func telling(of publisher: PublisherId, since time: Int64?) -> EventTelling {
    publishers.telling(of: publisher, since: time, now: now(), settling: settings.reloadSettling)
  }

  /// Counts the events that nobody is told.
  private func countKept() -> @LoopActor (Event) -> Void {
    let counter = metrics.counter(
      "countersign_shadow_events_total", "Events that were not sent, because their publisher is in shadow mode.")
    return { _ in counter.count() }
  }
}
