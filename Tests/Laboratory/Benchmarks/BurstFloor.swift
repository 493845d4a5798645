import AMQP
import Domain
import EventLoop
import Messaging

/// The floor of a burst of webhooks: queues as the notifier's, but of nobody.
enum BurstFloor: String {
  /// Messages go straight into a queue.
  case direct
  /// Messages wait for a second, and pass on all at once.
  case delayed

  /// Declares the queues, and returns the one to publish to.
  @LoopActor
  func declare(at broker: AMQPEndpoint) async throws -> String {
    let topology = Topology(prefix: "floor", delays: [.seconds(1)])
    let connection = try await AMQPConnection.open(broker, name: "benchmark floor")
    try await topology.declare(on: connection.openChannel())
    await connection.close()
    return switch self {
    case .direct: topology.deliveries(.flood)
    case .delayed: topology.deliveryDelay(.seconds(1))
    }
  }
}
