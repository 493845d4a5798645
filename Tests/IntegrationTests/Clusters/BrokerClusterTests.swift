import AMQP
import EventLoop
import Fleets
import Messaging
import ServerSupport
import TestSupport
import Testing

/// A RabbitMQ of three nodes: `ops/test --cluster`.
@Suite(
  .breakingServers, .enabled(if: TestServers.current?.isCluster == true, "needs a cluster: run ops/test --cluster"),
  .timeLimit(.minutes(30)))
@LoopActor
struct BrokerClusterTests {
  private let servers = TestServers.current!
  private let queue = "test-\(UInt64.random(in: 0...UInt64.max))"

  private func with(_ body: @LoopActor (AMQPChannel) async throws -> Void) async throws {
    let connection = try await AMQPConnection.open(servers.rabbitmq, name: "test")
    try await body(try await connection.openChannel())
    await connection.close()
  }

  @Test func `publisher and consumer go on when the leader of their queue is killed`() async throws {
    let queue = queue
    let declare: @LoopActor (AMQPChannel) async throws -> Void = {
      try await $0.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
    }
    let received = Mailbox<String>(of: "messages")
    let publisher = AMQPPublisher(
      { servers.rabbitmq }, name: "test", onChange: { _ in }, declare: declare)
    let consumer = AMQPConsumer(
      { servers.rabbitmq }, name: "test", queue: queue, prefetch: 10, onChange: { _ in }, declare: declare,
      handler: {
        received.put($0.delivery.properties.messageID ?? "")
        $0.acknowledge()
      })
    publisher.start()
    consumer.start()
    try await eventually("ready") { publisher.isReady && consumer.isReady }
    func publish(_ id: String) async throws {
      let message = AMQPMessage(exchange: "", routingKey: queue, messageID: id, body: [1])
      try await eventually("\(id) is confirmed") {
        do {
          try await publisher.publishSurely(message)
          return true
        } catch let error as AMQPError where error.code == .refused {
          // A node that has just started may refuse what the queue cannot take yet.
          return false
        }
      }
    }
    try await publish("before")
    try await received.wait { $0.contains("before") }
    // RabbitMQ 3.10 registers a new quorum queue on disk half a second late.
    try await servers.stop(.rabbitmq)
    try await servers.start(.rabbitmq)
    try await publish("restarted")
    try await received.wait { $0.contains("restarted") }

    let leader = try await servers.leader(of: queue)
    try await servers.kill(leader)
    try await publish("without it")
    try await received.wait { $0.contains("without it") }
    try await servers.start(leader)
    try await publish("with it")
    try await received.wait { $0.contains("with it") }
    await consumer.stop()
    await publisher.stop()
    try await with { try await $0.deleteQueue(queue) }
  }

  @Test func `a queue keeps its arguments: another group size is refused`() async throws {
    let small = Topology(prefix: queue, delays: [.seconds(1)], quorumInitialGroupSize: 1)
    let usual = Topology(prefix: queue, delays: [.seconds(1)])
    try await with { try await small.declare(on: $0) }
    try await with { try await small.declare(on: $0) }
    try await with { channel in
      let error = await #expect(throws: AMQPError.self) { try await usual.declare(on: channel) }
      #expect(error?.cause.hasPrefix("406") == true, "\(String(describing: error))")
    }
    try await with { for queue in small.queues { try await $0.deleteQueue(queue) } }
  }
}
