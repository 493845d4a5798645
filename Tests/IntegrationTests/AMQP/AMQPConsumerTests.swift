import AMQP
import EventLoop
import Fleets
import ServerSupport
import TestSupport
import Testing

/// A consumer that pauses, resumes and reopens.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct AMQPConsumerTests {
  private let endpoint = TestServers.current!.rabbitmq
  private let queue = "test-\(UInt64.random(in: 0...UInt64.max))"
  private let received = Mailbox<String>(of: "messages")
  private let changes = Mailbox<String>(of: "changes of the consumer")

  /// Runs a body with a consumer, and with a function that publishes to its queue.
  private func with(
    _ body: @LoopActor (AMQPConsumer, @LoopActor (String) async throws -> Void) async throws -> Void
  ) async throws {
    let (queue, received, changes) = (queue, received, changes)
    let connection = try await AMQPConnection.open(endpoint, name: "test")
    let channel = try await connection.openChannel()
    try await channel.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
    try await channel.enableConfirms()
    let consumer = AMQPConsumer(
      { [endpoint] in endpoint }, name: "consumer", queue: queue, prefetch: 10,
      onChange: { change in
        switch change {
        case .connected: changes.put("connected")
        case .reopening(let error): changes.put(error.cause)
        case .lost(let error, _): changes.put("lost: \(error)")
        case .blocked: break
        }
      }, declare: { _ in },
      handler: {
        received.put($0.delivery.properties.messageID ?? "")
        $0.acknowledge()
      })
    consumer.start()
    do {
      try await body(consumer) { id in
        try await channel.publish(AMQPMessage(exchange: "", routingKey: queue, messageID: id, body: [1]))
      }
    } catch {
      await consumer.stop()
      await connection.close()
      throw error
    }
    await consumer.stop()
    try await channel.deleteQueue(queue)
    await connection.close()
  }

  @Test func `the last word counts, however fast pauses and resumptions follow each other`() async throws {
    try await with { consumer, publish in
      try await eventually("ready") { consumer.isReady }
      consumer.pause()
      consumer.resume()
      try await publish("1")
      try await received.wait { $0.contains("1") }
      for _ in 0..<10 {
        consumer.pause()
        consumer.resume()
        consumer.pause()
      }
      consumer.resume()
      try await publish("2")
      try await received.wait { $0.contains("2") }
      #expect(changes.all == ["connected"])
    }
  }

  @Test func `a word while the connection is opened counts, too`() async throws {
    try await with { consumer, publish in
      // The connection is not there yet.
      consumer.pause()
      consumer.resume()
      try await publish("1")
      try await received.wait { $0.contains("1") }
      #expect(changes.all == ["connected"])
    }
  }

  @Test func `a consumer that gets nothing goes on over another connection`() async throws {
    try await with { consumer, publish in
      try await publish("1")
      try await received.wait { $0.contains("1") }
      consumer.reopenIfIdle(for: .seconds(600))
      consumer.pause()
      try await eventually("it does not consume") {
        try await depth().consumers == 0
      }
      // Nobody wants deliveries.
      consumer.reopenIfIdle(for: .zero)
      consumer.resume()
      try await eventually("it consumes") { try await depth().consumers == 1 }
      #expect(changes.all == ["connected"])
      consumer.reopenIfIdle(for: .zero)
      try await changes.wait { $0.count == 3 }
      #expect(changes.all.first == "connected" && changes.all.last == "connected")
      #expect(changes.all[1].contains("the broker delivers none"))
      try await publish("2")
      try await received.wait { $0.contains("2") }
    }
  }

  private func depth() async throws -> QueueDepth {
    let connection = try await AMQPConnection.open(endpoint, name: "look")
    let found = try await connection.openChannel().declareQueue(queue, passive: true)
    await connection.close()
    return found
  }
}
