import AMQP
import EventLoop
import Fleets
import ServerSupport
import TestSupport
import Testing

@Suite(
  .breakingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(30)))
@LoopActor
struct BrokerOutageTests {
  @Test func `publisher and consumer come back after the broker was killed, and nothing confirmed is lost`()
    async throws
  {
    let servers = TestServers.current!
    let queue = "test-\(UInt64.random(in: 0...UInt64.max))"
    let declare: @LoopActor (AMQPChannel) async throws -> Void = {
      try await $0.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
    }
    let received = Mailbox<String>(of: "messages")
    let losses = Mailbox<Void>(of: "losses of the connection")
    let publisher = AMQPPublisher(
      { servers.rabbitmq }, name: "test", onChange: { if case .lost = $0 { losses.put(()) } }, declare: declare)
    let consumer = AMQPConsumer(
      { servers.rabbitmq }, name: "test", queue: queue, prefetch: 10, onChange: { _ in }, declare: declare,
      handler: {
        received.put($0.delivery.properties.messageID ?? "")
        $0.acknowledge()
      })
    publisher.start()
    consumer.start()
    try await eventually("ready") { publisher.isReady && consumer.isReady }
    func message(_ id: String) -> AMQPMessage { AMQPMessage(exchange: "", routingKey: queue, messageID: id, body: [1]) }
    try await publisher.publishSurely(message("before"), patience: .patience)
    try await received.wait(for: 1)

    // RabbitMQ 3.10 registers a new quorum queue on disk half a second late. A proper restart settles that; it is
    // also a case of its own.
    try await servers.stop(.rabbitmq)
    try await servers.start(.rabbitmq)
    try await publisher.publishSurely(message("restarted"), patience: .patience)
    try await received.wait { $0.contains("restarted") }
    let before = losses.all.count

    try await servers.kill(.rabbitmq)
    try await losses.wait(for: before + 1)
    #expect(!publisher.isReady)
    await #expect(throws: AMQPError.self) { try await publisher.publish(message("refused")) }
    let during = Task { @LoopActor in
      try await publisher.publishSurely(message("during"), patience: .patience)
    }
    try await servers.start(.rabbitmq)
    try await during.value
    try await publisher.publishSurely(message("after"), patience: .patience)
    let all = try await received.wait { Set($0).isSuperset(of: ["before", "during", "after"]) }
    #expect(!all.contains("refused"))

    try await eventually("ready again") { publisher.isReady }
    try await publisher.channel?.deleteQueue(queue)
    await consumer.stop()
    await publisher.stop()
    #expect(!publisher.isReady)
  }

  @Test func `a session can be stopped at any moment, and twice`() async throws {
    for round in 0..<20 {
      let publisher = AMQPPublisher(
        { TestServers.current!.rabbitmq }, name: "test", onChange: { _ in }, declare: { _ in })
      if round % 4 != 0 { publisher.start() }
      if round % 2 == 0, round % 4 != 0 { try await eventually("ready") { publisher.isReady } }
      await publisher.stop()
      await publisher.stop()
      #expect(!publisher.isReady)
      await #expect(throws: AMQPError.self) {
        try await publisher.publish(AMQPMessage(exchange: "", routingKey: "q", messageID: "m", body: []))
      }
    }
  }

  @Test func `an acknowledgement sent just before a proper close is taken`() async throws {
    let queue = "test-\(UInt64.random(in: 0...UInt64.max))"
    let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "test")
    let channel = try await connection.openChannel()
    try await channel.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
    try await channel.enableConfirms()
    for number in 0..<200 {
      let message = AMQPMessage(exchange: "", routingKey: queue, messageID: "\(number)", body: [1])
      try await channel.publish(message, timeout: .patience)
    }
    let received = Mailbox<AMQPDelivery>(of: "messages")
    try await channel.consume(queue, tag: "c") { received.put($0) }
    for delivery in try await received.wait(for: 200) { channel.acknowledge(delivery) }
    await connection.close()

    let later = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "test")
    let look = try await later.openChannel()
    // The queue takes acknowledgements shortly after the channel has closed. Lost ones would never arrive.
    try await eventually("the queue is empty") { try await look.declareQueue(queue, passive: true).messages == 0 }
    let again = Mailbox<AMQPDelivery>(of: "messages of the later channel")
    try await look.consume(queue, tag: "c") { again.put($0) }
    try await look.enableConfirms()
    let last = AMQPMessage(exchange: "", routingKey: queue, messageID: "last", body: [1])
    try await look.publish(last, timeout: .patience)
    #expect(try await again.wait(for: 1)[0].properties.messageID == "last")
    try await look.cancel("c")
    try await look.deleteQueue(queue)
    await later.close()
  }

  @Test func `what a consumer was given before it stopped does not come again`() async throws {
    let queue = "test-\(UInt64.random(in: 0...UInt64.max))"
    let endpoint = TestServers.current!.rabbitmq
    let connection = try await AMQPConnection.open(endpoint, name: "test")
    let channel = try await connection.openChannel()
    try await channel.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
    try await channel.enableConfirms()
    let publishing = Task { @LoopActor in
      var number = 0
      while !Task.isCancelled {
        let messages = (0..<10).map { _ in
          number += 1
          let message = AMQPMessage(exchange: "", routingKey: queue, messageID: "\(number)", body: [1])
          return Task { @LoopActor in try await channel.publish(message, timeout: .patience) }
        }
        for message in messages { try await message.value }
      }
    }
    // Each consumer stops while messages come, and the next one takes over.
    var seen: Set<String> = []
    var again: [String] = []
    var unseen = 0
    for round in 1...10 {
      let consumer = AMQPConsumer(
        { endpoint }, name: "consumer", queue: queue, prefetch: 50, cancelLimit: .patience, onChange: { _ in },
        declare: { _ in },
        handler: { received in
          let id = received.delivery.properties.messageID ?? ""
          if !seen.insert(id).inserted { again.append(id) } else if received.delivery.isRedelivered { unseen += 1 }
          received.acknowledge()
        })
      consumer.start()
      try await eventually("messages come") { seen.count >= round * 100 }
      await consumer.cancel()
      await consumer.stop()
    }
    publishing.cancel()
    try await publishing.value
    #expect(again.isEmpty, "\(unseen) others were given back by the broker without having been sent")
    try await channel.deleteQueue(queue)
    await connection.close()
  }
}
