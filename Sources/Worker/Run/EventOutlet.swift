import AMQP
import Domain
import EventLoop
import Ledger
import Messaging
import Observability
import Service

/// Publishes events right after their commit: into the fleet's own queue, and to the subscribers.
///
/// Nothing waits for it: an event that the own queue does not take stays in the outbox, and a sweep publishes it. What
/// a subscriber does not take, the ledger owes it from then on.
@LoopActor
final class EventOutlet {
  private let broker: any JobBroker
  private let ledger: any JobLedger
  private let queue: String
  private let subscribers: Subscribers
  private let log: Log
  private let metrics: WorkerMetrics
  private let recent: RecentEvents
  /// How many events wait for their confirm.
  private(set) var underWay = 0

  /// A broker that confirms nothing must not fill the memory. More events than these stay in the outbox. A job of a
  /// publisher with every door tells five, so these are the events of 3,000 jobs in one moment (2 KB each).
  static let most = 16_384

  /// The way to the subscribers.
  struct Subscribers {
    /// Publishes an event to all of them.
    var publish: @LoopActor (Event) -> EventSubscribers.Copies = { _ in EventSubscribers.Copies() }
    /// Notes what they miss, and takes the events out of the outbox.
    var owe: @LoopActor ([OwedEvents.Missed]) -> Void = { _ in }
  }

  /// - Parameter queue: the fleet's own.
  init(
    _ broker: any JobBroker, _ ledger: any JobLedger, queue: String, _ subscribers: Subscribers, _ log: Log,
    _ metrics: WorkerMetrics, _ recent: RecentEvents
  ) {
    self.broker = broker
    self.ledger = ledger
    self.queue = queue
    self.subscribers = subscribers
    self.log = log
    self.metrics = metrics
    self.recent = recent
  }

  /// Publishes events in their order.
  ///
  /// - Parameters:
  ///   - isLate: whether a sweep has found them. Subscribers may have them already. So the own queue comes first: while
  ///     it takes nothing, each sweep would tell everybody again.
  ///   - whenConfirmed: called when the own queue has the first one.
  func publish(_ events: [Event], isLate: Bool = false, whenConfirmed: @escaping @LoopActor () -> Void = {}) {
    var whenConfirmed: (@LoopActor () -> Void)? = whenConfirmed
    for event in events where underWay < Self.most {
      underWay += 1
      let note = whenConfirmed
      whenConfirmed = nil
      // The publish itself happens before the task first suspends, so the events keep their order.
      Task.immediate { @LoopActor in
        await publish(event, isLate: isLate, note)
        underWay -= 1
      }
    }
  }

  private func publish(_ event: Event, isLate: Bool, _ whenConfirmed: (@LoopActor () -> Void)?) async {
    let early = isLate ? nil : subscribers.publish(event)
    do {
      try await broker.publish(EventMessage.message(event, queue: queue))
    } catch {
      return log.warning("an event stays in the outbox", ["eventId": .string(event.id), "cause": .failure(error)])
    }
    recent.add(event)
    metrics.events.count()
    whenConfirmed?()
    let copies = early ?? subscribers.publish(event)
    let missed = await copies.ended()
    if missed.isEmpty { ledger.confirm([event.id]) } else { subscribers.owe(missed) }
  }

  /// Puts an event into the own queue again, because the broker may have lost it together with a connection. The
  /// subscribers' connections see to theirs.
  func tellAgain(_ event: Event) async {
    do {
      try await broker.publishSurely(EventMessage.message(event, queue: queue))
      recent.add(event)
    } catch {
      log.error("an event could not be told again", ["eventId": .string(event.id), "cause": .failure(error)])
    }
  }
}
