import AMQP
import Configuration
import Domain
import EventLoop
import Ledger
import Messaging
import Observability
import Postgres
import Service

/// Publishes the events of a gateway's commits.
@LoopActor
struct EventOutlet {
  let context: RoleContext
  let ledger: PostgresClient
  let broker: AMQPPublisher
  let topology: Topology
  let subscribers: EventSubscribers

  /// Publishes the events of a commit at once, in their order. If that fails, a worker publishes them some seconds
  /// later.
  func publish(_ events: [Event]) async {
    guard broker.isReady else { return }
    do {
      for event in events {
        let copies = subscribers.publish(event)
        try await broker.publish(
          EventMessage.message(event, queue: topology.deliveries), timeout: context.settings.gateway.publishTimeout)
        settle(event, copies)
      }
    } catch {
      context.log.warning("event stays in the outbox", ["cause": .failure(error)])
    }
  }

  /// Takes an event out of the outbox that the fleet's own queue has. Nobody waits for that.
  private func settle(_ event: Event, _ copies: EventSubscribers.Copies) {
    Task.immediate { @LoopActor in
      let missed = await copies.ended()
      guard missed.isEmpty else { return subscribers.owe(missed) }
      do {
        _ = try await ledger.run(Event.confirmed([event.id]))
      } catch {
        context.log.warning("event stays in the outbox", ["cause": .failure(error)])
      }
    }
  }
}
