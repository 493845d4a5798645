import AMQP
import EventLoop
import Fleets
import ServerSupport
import TestSupport
import Testing

@testable import Messaging

/// What operators do to a queue of the dead, on a real broker.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct DeadQueueChangeTests {
  /// A queue of the dead with messages, and the connection of a command.
  @LoopActor
  private struct Bench {
    let topology: Topology
    let connection: AMQPConnection
    let channel: AMQPChannel
    let command: AMQPConnection

    var queue: String { topology.deadDeliveries }

    func bury(_ names: some Sequence<String>) async throws {
      for name in names {
        try await channel.publish(
          AMQPMessage(exchange: "", routingKey: queue, messageID: name, type: "t", body: Array("{}".utf8)))
      }
    }

    func change(limit: Int = .max, isDryRun: Bool = false) -> DeadQueueChange {
      DeadQueueChange(.deliveries, in: topology, over: command, limit: limit, isDryRun: isDryRun)
    }

    func depth(_ queue: String? = nil) async throws -> Int { try await channel.depth(of: queue ?? self.queue) }

    /// What a queue has, in its order, without taking anything out.
    func names(_ queue: String? = nil) async throws -> [String] {
      var names: [String] = []
      _ = try await DeadQueueLook.run(queue ?? self.queue, over: connection) { some in
        names += some.map { $0.properties.messageID ?? "" }
        return DeadQueueLook.Step()
      }
      return names
    }

    /// Takes everything out of the queue of the dead.
    func taken() async throws -> [AMQPDelivery] {
      var all: [AMQPDelivery] = []
      _ = try await DeadQueueLook.run(queue, over: connection) { some in
        all += some
        return DeadQueueLook.Step(settled: some)
      }
      return all
    }

    /// The same message for the queue of work.
    func again(_ message: DeadMessage) -> DeadQueueChange.Fate {
      .again(AMQPMessage(copying: message.delivery, to: topology.deliveries))
    }
  }

  private func with(_ body: @LoopActor (Bench) async throws -> Void) async throws {
    let topology = Topology(prefix: "test-\(UInt64.random(in: 0...UInt64.max))", delays: [.milliseconds(50)])
    let connection = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "test")
    let command = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "test command")
    let channel = try await connection.openChannel()
    try await channel.enableConfirms()
    try await topology.declare(on: channel)
    try await body(Bench(topology: topology, connection: connection, channel: channel, command: command))
    for queue in topology.queues { try await channel.deleteQueue(queue) }
    await command.close()
    await connection.close()
  }

  private struct Stop: Error {}

  @Test func `what stays keeps its order and its number, however many there are`() async throws {
    try await with { bench in
      let names = (0..<600).map { "m\($0)" }
      try await bench.bury(names)
      var seen: [String] = []
      let outcome = try await bench.change().run { messages, before in
        #expect(before == seen.count)
        seen += messages.map(\.id)
        return messages.map { _ in .stays }
      } record: { _ in
        Issue.record("nothing leaves")
      }
      #expect(outcome == DeadQueueChange.Counts(looked: 600, changed: 0))
      #expect(seen == names)
      #expect(try await bench.depth() == 600)
      #expect(try await bench.names() == names)
    }
  }

  @Test func `the order stays also after many parts, some of which lose messages`() async throws {
    try await with { bench in
      let names = (0..<600).map { "m\($0)" }
      try await bench.bury(names)
      let looked = try await DeadQueueLook.run(bench.queue, over: bench.command, atOnce: 10) { some in
        DeadQueueLook.Step(settled: some.filter { $0.properties.messageID?.hasSuffix("7") == true })
      }
      #expect(looked == 600)
      #expect(try await bench.names() == names.filter { !$0.hasSuffix("7") })
    }
  }

  @Test func `what is retried runs, what is dropped goes, and the rest keeps its order`() async throws {
    try await with { bench in
      try await bench.bury((0..<300).map { "m\($0)" })
      var recorded: [String] = []
      let outcome = try await bench.change().run { messages, before in
        messages.indices.map { index in
          switch (before + index) % 3 {
          case 0: bench.again(messages[index])
          case 1: .goes
          default: .stays
          }
        }
      } record: {
        recorded += $0.map(\.id)
      }
      #expect(outcome == DeadQueueChange.Counts(looked: 300, changed: 200))
      #expect(recorded == (0..<300).filter { $0 % 3 != 2 }.map { "m\($0)" })
      #expect(try await bench.names() == (0..<300).filter { $0 % 3 == 2 }.map { "m\($0)" })
      // The publishes of one step are under way together.
      #expect(Set(try await bench.names(bench.topology.deliveries)) == Set((0..<100).map { "m\($0 * 3)" }))
    }
  }

  @Test func `a message that arrives meanwhile is not touched`() async throws {
    try await with { bench in
      try await bench.bury((0..<400).map { "m\($0)" })
      var seen = 0
      let outcome = try await bench.change().run { messages, before in
        seen += messages.count
        try await bench.bury(["late\(before)"])
        return messages.map { _ in .goes }
      } record: { _ in
      }
      #expect(outcome == DeadQueueChange.Counts(looked: 400, changed: 400))
      #expect(seen == 400)
      let left = try await bench.taken()
      #expect(left.map { $0.properties.messageID } == ["late0", "late250"])
      #expect(left.allSatisfy { !$0.isRedelivered }, "nobody has seen them")
    }
  }

  @Test func `a limit ends the change, and the rest keeps its order`() async throws {
    try await with { bench in
      try await bench.bury((0..<30).map { "m\($0)" })
      let outcome = try await bench.change(limit: 10).run { messages, before in
        messages.indices.map { (before + $0) % 2 == 0 ? .goes : .stays }
      } record: {
        #expect($0.count == 10)
      }
      #expect(outcome.changed == 10)
      #expect(try await bench.names() == (0..<30).filter { $0 % 2 == 1 || $0 >= 20 }.map { "m\($0)" })
    }
  }

  @Test func `a dry run tells the number, and changes nothing`() async throws {
    try await with { bench in
      let names = (0..<30).map { "m\($0)" }
      try await bench.bury(names)
      let outcome = try await bench.change(isDryRun: true).run { messages, _ in
        messages.map(bench.again)
      } record: { _ in
        Issue.record("nothing leaves")
      }
      #expect(outcome == DeadQueueChange.Counts(looked: 30, changed: 30))
      #expect(try await bench.names() == names)
      #expect(try await bench.depth(bench.topology.deliveries) == 0)
    }
  }

  @Test func `without a record nothing leaves the queue`() async throws {
    try await with { bench in
      try await bench.bury(["a", "b", "c"])
      await #expect(throws: Stop.self) {
        _ = try await bench.change().run { messages, _ in
          messages.map { _ in .goes }
        } record: { _ in
          throw Stop()
        }
      }
      #expect(try await bench.names() == ["a", "b", "c"])
    }
  }

  @Test func `a message that the broker does not take stays`() async throws {
    try await with { bench in
      try await bench.bury(["a", "b"])
      await #expect(throws: AMQPError.self) {
        _ = try await bench.change().run { messages, _ in
          messages.map { .again(AMQPMessage(copying: $0.delivery, to: "no-such-queue")) }
        } record: { _ in
          Issue.record("nothing leaves")
        }
      }
      #expect(try await bench.names() == ["a", "b"])
    }
  }

  @Test func `killed between the publish and the acknowledgement, a message is there twice`() async throws {
    try await with { bench in
      try await bench.bury(["a", "b"])
      await #expect(throws: AMQPError.self) {
        _ = try await bench.change().run { messages, _ in
          messages.map(bench.again)
        } record: { _ in
          await bench.command.close()
          throw AMQPError(.closed, operation: "test", target: "", cause: "killed")
        }
      }
      try await eventually("the broker has them back") { try await bench.depth() == 2 }
      #expect(Set(try await bench.names()) == ["a", "b"])
      #expect(Set(try await bench.names(bench.topology.deliveries)) == ["a", "b"])
    }
  }

  @Test func `looks use up nothing, on no version of the broker`() async throws {
    try await with { bench in
      try await bench.bury(["a", "b"])
      for _ in 0..<25 {
        _ = try await bench.change().run { messages, _ in
          messages.map { _ in .stays }
        } record: { _ in
        }
      }
      #expect(try await bench.names() == ["a", "b"])
    }
  }

  @Test func `two commands at once share the messages`() async throws {
    try await with { bench in
      try await bench.bury((0..<20).map { "m\($0)" })
      let other = try await AMQPConnection.open(TestServers.current!.rabbitmq, name: "test other")
      var (first, second) = (0, 0)
      _ = try await bench.change().run { messages, _ in
        first += messages.count
        let change = DeadQueueChange(.deliveries, in: bench.topology, over: other)
        _ = try await change.run { messages, _ in
          second += messages.count
          return messages.map { _ in .goes }
        } record: { _ in
        }
        return messages.map { _ in .goes }
      } record: { _ in
      }
      #expect((first, second) == (20, 0))
      #expect(try await bench.depth() == 0)
      await other.close()
    }
  }
}
