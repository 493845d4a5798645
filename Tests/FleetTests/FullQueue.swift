import AMQP
import EventLoop
import Fleets
import Messaging
import ServerSupport
import TestSupport

/// The queue of a subscriber with an exchange of its own. It takes nothing until a test replaces it.
@LoopActor
struct FullQueue {
  private let subscriber: String
  private let name: String
  private let exchange: String
  private let connection: AMQPConnection
  private let channel: AMQPChannel

  init(of subscriber: String, in fleet: RunningFleet) async throws {
    self.subscriber = subscriber
    (name, exchange) = (fleet.topology.prefix + ".\(subscriber)", fleet.topology.events(for: subscriber))
    connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: subscriber)
    channel = try await connection.openChannel()
    try await fleet.topology.declareEvents(for: subscriber, on: channel)
    let full: [String: AMQPValue] = ["x-queue-type": "classic", "x-max-length": 0, "x-overflow": "reject-publish"]
    try await channel.declareQueue(name, arguments: full)
    try await channel.bindQueue(name, to: exchange, routingKey: "#")
  }

  /// Puts a queue in its place that takes everything.
  ///
  /// - Returns: the ids of the synchronizations that its events are about.
  func replace() async throws -> Mailbox<String> {
    try await channel.deleteQueue(name)
    try await channel.declareQueue(name, arguments: ["x-queue-type": "quorum"])
    try await channel.bindQueue(name, to: exchange, routingKey: "#")
    let mailbox = Mailbox<String>(of: "events of the replaced queue")
    try await channel.consume(name, tag: subscriber) { [channel] delivery in
      channel.acknowledge(delivery)
      if let id = RunningFleet.synchronizationId(of: delivery) { mailbox.put(id) }
    }
    return mailbox
  }

  /// Deletes it, and ends its connection.
  func close() async throws {
    try await channel.deleteQueue(name)
    await connection.close()
  }
}
