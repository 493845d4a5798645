import AMQP
import Domain
import EventLoop
import Messaging
import Observability

/// Publishes events right after their commit.
///
/// Nothing waits for it: an event that the broker does not confirm stays in the outbox, and a sweep publishes it.
@LoopActor
final class EventOutlet {
  private let broker: any JobBroker
  private let ledger: any JobLedger
  private let exchange: String
  private let log: Log
  private let metrics: WorkerMetrics
  private let recent: RecentEvents
  /// How many events wait for their confirm.
  private(set) var underWay = 0

  /// A broker that confirms nothing must not fill the memory. More events than these stay in the outbox. A job of a
  /// publisher with every door tells five, so these are the events of 3,000 jobs in one moment (2 KB each).
  static let most = 16_384

  init(
    _ broker: any JobBroker, _ ledger: any JobLedger, exchange: String, _ log: Log, _ metrics: WorkerMetrics,
    _ recent: RecentEvents
  ) {
    self.broker = broker
    self.ledger = ledger
    self.exchange = exchange
    self.log = log
    self.metrics = metrics
    self.recent = recent
  }

  /// Publishes events in their order.
  ///
  /// - Parameter whenConfirmed: called when the broker has confirmed the first one.
  func publish(_ events: [Event], whenConfirmed: @escaping @LoopActor () -> Void = {}) {
    var whenConfirmed: (@LoopActor () -> Void)? = whenConfirmed
    for event in events where underWay < Self.most {
      underWay += 1
      let note = whenConfirmed
      whenConfirmed = nil
      // The publish itself happens before the task first suspends, so the events keep their order.
      Task.immediate { @LoopActor in
        await publish(event, note)
        underWay -= 1
      }
    }
  }

  private func publish(_ event: Event, _ whenConfirmed: (@LoopActor () -> Void)?) async {
    do {
      try await broker.publish(EventMessage.message(event, exchange: exchange))
      recent.add(event)
      ledger.confirm([event.id])
      metrics.events.count()
      whenConfirmed?()
    } catch {
      log.warning("an event stays in the outbox", ["eventId": .string(event.id), "cause": .failure(error)])
    }
  }
}
