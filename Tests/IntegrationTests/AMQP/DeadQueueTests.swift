import AMQP
import EventLoop
import Fleets
import ServerSupport
import TestSupport
import Testing

@testable import Messaging

/// Queues of the dead: their length, and the way from the form that has none.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct DeadQueueTests {
  private func with(
    _ body: @LoopActor (Topology, AMQPConnection, AMQPChannel) async throws -> Void
  ) async throws {
    let topology = Topology(prefix: "test-\(UInt64.random(in: 0...UInt64.max))", delays: [.milliseconds(50)])
    let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "test")
    let channel = try await connection.openChannel()
    try await channel.enableConfirms()
    try await body(topology, connection, channel)
    for queue in topology.queues { try await channel.deleteQueue(queue) }
    await connection.close()
  }

  private func bury(_ names: [String], in queue: String, _ channel: AMQPChannel) async throws {
    for name in names {
      try await channel.publish(
        AMQPMessage(
          exchange: "", routingKey: queue, messageID: name, type: "t", headers: ["countersign-reason": .string(name)],
          body: Array(name.utf8)))
    }
  }

  /// Takes everything out of a queue.
  private func taken(_ queue: String, _ connection: AMQPConnection, expecting count: Int) async throws -> [AMQPDelivery]
  {
    let channel = try await connection.openChannel()
    let got = Mailbox<AMQPDelivery>(of: "dead messages")
    try await channel.consume(queue, tag: "t") { got.put($0) }
    let all = try await got.wait(for: count)
    for each in all { channel.acknowledge(each) }
    await channel.close()
    return all
  }

  private func isThere(_ queue: String, _ connection: AMQPConnection) async throws -> Bool {
    do {
      _ = try await connection.openChannel().declareQueue(queue, passive: true)
      return true
    } catch let error as AMQPError where error.isNotFound {
      return false
    }
  }

  @Test func `a queue without a maximum length works, and is declared again with its messages`() async throws {
    try await with { topology, connection, channel async throws in
      let old = topology.deadDeliveries
      try await channel.declareQueue(old, arguments: ["x-queue-type": "quorum"])
      let names = (0..<250).map { "m\($0)" }
      try await bury(names, in: old, channel)
      // A role goes on, and says what to do.
      #expect(try await topology.declare(on: channel) == [old])
      try await bury(["late"], in: old, channel)
      var lines: [String] = []
      try await topology.renewDeadQueues(over: connection) { lines.append($0) }
      #expect(try await topology.declare(on: channel) == [])
      #expect(lines == ["\(old) has a maximum length now; 251 messages are back in it"])
      #expect(try await !isThere(Topology.holding(old), connection))
      let all = try await taken(old, connection, expecting: 251)
      #expect(Set(all.map { $0.properties.messageID }) == Set(names + ["late"]))
      #expect(all.allSatisfy { $0.properties.headers["countersign-reason"]?.string == $0.properties.messageID })
      #expect(all.allSatisfy { String(decoding: $0.body, as: UTF8.self) == $0.properties.messageID })
      // A second call has nothing to do.
      try await topology.renewDeadQueues(over: connection) { lines.append($0) }
      #expect(lines.count == 1)
    }
  }

  @Test(arguments: ["while it moves", "before the new queue", "while it moves back"])
  func `a call that was killed in between is finished by the next one`(moment: String) async throws {
    try await with { topology, connection, channel async throws in
      let queue = topology.deadJobs
      let holding = Topology.holding(queue)
      try await channel.declareQueue(
        holding, arguments: ["x-queue-type": "quorum", "x-delivery-limit": 1_000_000])
      try await bury(["a", "b"], in: holding, channel)
      switch moment {
      case "while it moves":
        try await channel.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
        try await bury(["c", "d"], in: queue, channel)
      case "before the new queue": try await bury(["c", "d"], in: holding, channel)
      default:
        try await topology.declare(on: channel)
        try await bury(["c", "d"], in: queue, channel)
      }
      try await topology.renewDeadQueues(over: connection) { _ in }
      #expect(try await topology.declare(on: channel) == [])
      let all = try await taken(queue, connection, expecting: 4)
      #expect(Set(all.compactMap { $0.properties.messageID }) == ["a", "b", "c", "d"])
      #expect(try await !isThere(holding, connection))
    }
  }

  @Test func `a message stays that a person has looked at many times`() async throws {
    try await with { topology, connection, channel async throws in
      try await topology.declare(on: channel)
      let queue = topology.deadJobs
      try await bury(["kept"], in: queue, channel)
      // RabbitMQ 4 drops a message of a queue that says nothing after 20 returns.
      for _ in 0..<25 {
        let look = try await connection.openChannel()
        let got = Mailbox<AMQPDelivery>(of: "dead messages")
        try await look.consume(queue, tag: "look") { got.put($0) }
        _ = try await got.wait(for: 1)
        await look.close()
      }
      let left = try await taken(queue, connection, expecting: 1)
      #expect(left.map { $0.properties.messageID } == ["kept"])
    }
  }

  @Test func `a full queue of the dead takes the newest, and holds up nobody`() async throws {
    try await with { topology, connection, channel async throws in
      var arguments = topology.dead
      #expect(arguments["x-max-length"] == .int(Int64(Topology.mostDead)))
      #expect(arguments["x-delivery-limit"] == 1_000_000)
      // The same form with a small length.
      arguments["x-max-length"] = 3
      let queue = topology.prefix + ".small"
      try await channel.declareQueue(queue, arguments: arguments)
      // Each publish is confirmed.
      try await bury(["1", "2", "3", "4", "5"], in: queue, channel)
      try await eventually("the oldest gave way") { try await channel.depth(of: queue) == 3 }
      let left = try await taken(queue, connection, expecting: 3)
      #expect(left.compactMap { $0.properties.messageID } == ["3", "4", "5"])
      try await channel.deleteQueue(queue)
      try await topology.declare(on: channel)
    }
  }
}
