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

  /// Publishes the events of a commit at once, in their order. If that fails, a worker publishes them some seconds
  /// later.
  func publish(_ events: [Event]) async {
    guard broker.isReady else { return }
    do {
      for event in events {
        try await broker.publish(
          EventMessage.message(event, exchange: topology.events), timeout: context.settings.gateway.publishTimeout)
      }
      _ = try await ledger.run(Event.confirmed(events.map(\.id)))
    } catch {
      context.log.warning("event stays in the outbox", ["cause": .failure(error)])
    }
  }
}
