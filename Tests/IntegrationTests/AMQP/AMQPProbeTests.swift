import EventLoop
import Fleets
import ServerSupport
import TestSupport
import Testing

@testable import AMQP

/// A connection that consumes, and a queue of probes whose only member stops and comes back.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct AMQPProbeTests {
  private let name = "test-\(UInt64.random(in: 0...UInt64.max))"

  @Test func `a node that confirms nothing loses its consumers, and they come back`() async throws {
    let servers = TestServers.current!
    let (jobs, probes) = (name, name + ".probe")
    let changes = Mailbox<String>(of: "changes of the consumer")
    let received = Mailbox<String>(of: "messages")
    let connection = try await AMQPConnection.open(servers.rabbitmq, name: "test")
    let channel = try await connection.openChannel()
    for queue in [jobs, probes] {
      try await channel.declareQueue(
        queue, arguments: ["x-queue-type": "quorum", "x-max-length": 1, "x-overflow": "drop-head"])
    }
    try await channel.enableConfirms()
    var times = AMQPProbe.Times()
    (times.pause, times.patience) = (.milliseconds(50), .seconds(2))
    let consumer = AMQPConsumer(
      { servers.rabbitmq }, name: "consumer", queue: jobs, prefetch: 10, probe: AMQPProbe(queue: probes, times: times),
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
    // Probes come, and the consumer stays.
    try await eventually("a probe is there") { try await channel.depth(of: probes) == 1 }
    try await servers.stall(queue: probes)
    try await changes.wait { $0.contains { $0.contains("cut off from the others") } }
    try await servers.unstall(queue: probes)
    try await channel.publish(AMQPMessage(exchange: "", routingKey: jobs, messageID: "after", body: []))
    try await received.wait { $0.contains("after") }
    await consumer.stop()
    for queue in [jobs, probes] { try await channel.deleteQueue(queue) }
    await connection.close()
  }

  /// If the queue of the probes has no majority itself, a new connection helps nothing.
  @Test func `after each miss the next probe waits longer, up to a limit`() {
    let times = AMQPProbe.Times()
    let pauses = (-1...6).map { times.pause(after: $0) / times.pause }
    #expect(pauses == [1, 1, 2, 4, 8, 16, 16, 16])
  }
}
