import EventLoop
import Fleets
import Formats
import ServerSupport
import TestSupport
import Testing

@testable import AMQP

@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct AMQPChannelTests {
  private let endpoint = TestServers.current!.rabbitmq

  /// Runs a body with a connection, a channel and a queue of its own.
  private func with(
    _ arguments: [String: AMQPValue] = ["x-queue-type": "quorum"],
    _ body: @LoopActor (AMQPConnection, AMQPChannel, String) async throws -> Void
  ) async throws {
    let connection = try await AMQPConnection.open(endpoint, name: "test")
    let channel = try await connection.openChannel()
    let queue = "test-\(UInt64.random(in: 0...UInt64.max))"
    try await channel.declareQueue(queue, arguments: arguments)
    try await channel.enableConfirms()
    do {
      try await body(connection, channel, queue)
    } catch {
      await connection.close()
      throw error
    }
    if channel.failure == nil { try await channel.deleteQueue(queue) }
    await connection.close()
  }

  @Test func `a message arrives as it was sent`() async throws {
    try await with { _, channel, queue in
      let received = Mailbox<AMQPDelivery>(of: "messages")
      try await channel.setPrefetch(10)
      try await channel.consume(queue, tag: "c") { received.put($0) }
      let body = (0..<300_000).map { UInt8(truncatingIfNeeded: $0) }  // more than one frame
      try await channel.publish(
        AMQPMessage(
          exchange: "", routingKey: queue, messageID: "m-1", contentType: "application/octet-stream", type: "job",
          headers: ["text": "ä", "number": .int(.max), "flag": true], body: body))
      let delivery = try await received.wait(for: 1)[0]
      #expect(delivery.body == body)
      #expect(delivery.properties.messageID == "m-1")
      #expect(delivery.properties.type == "job")
      #expect(delivery.properties.contentType == "application/octet-stream")
      #expect(delivery.properties.headers == ["text": "ä", "number": .int(.max), "flag": true])
      #expect(!delivery.isRedelivered)
      channel.acknowledge(delivery)
    }
  }

  @Test func `a connection that has ended opens no channel`() async throws {
    // A broker that shuts down may end a connection between its log-in and its first channel.
    let connection = try await AMQPConnection.open(endpoint, name: "test")
    await connection.close()
    // Nobody would end such a channel, and its call would wait for ever.
    let error = try await #require(throws: AMQPError.self) { _ = try await connection.openChannel() }
    #expect(error.code == .closed)
  }

  @Test func `an empty body arrives`() async throws {
    try await with { _, channel, queue in
      let received = Mailbox<AMQPDelivery>(of: "messages")
      try await channel.consume(queue, tag: "c") { received.put($0) }
      try await channel.publish(AMQPMessage(exchange: "", routingKey: queue, messageID: "m", body: []))
      #expect(try await received.wait(for: 1)[0].body.isEmpty)
    }
  }

  @Test func `a thousand messages under way at once are all confirmed`() async throws {
    try await with { _, channel, queue in
      let tasks = (0..<1000).map { number in
        Task { @LoopActor in
          try await channel.publish(AMQPMessage(exchange: "", routingKey: queue, messageID: "m-\(number)", body: [1]))
        }
      }
      for task in tasks { try await task.value }
      #expect(try await channel.declareQueue(queue, passive: true).messages == 1000)
    }
  }

  @Test func `a message that no queue takes is an error, and its neighbours are confirmed`() async throws {
    try await with { _, channel, queue in
      let good = Task { @LoopActor in
        try await channel.publish(AMQPMessage(exchange: "", routingKey: queue, messageID: "good", body: [1]))
      }
      let error = await #expect(throws: AMQPError.self) {
        try await channel.publish(AMQPMessage(exchange: "", routingKey: queue + "-none", messageID: "bad", body: [1]))
      }
      #expect(error?.code == .unroutable)
      #expect(error?.cause.contains("NO_ROUTE") == true)
      try await good.value
    }
  }

  @Test func `a full queue refuses`() async throws {
    let arguments: [String: AMQPValue] = [
      "x-queue-type": "quorum", "x-max-length": 1, "x-overflow": "reject-publish",
    ]
    try await with(arguments) { _, channel, queue in
      var refused = 0
      // A quorum queue may take a few more than its length before it refuses.
      for number in 0..<20 {
        do {
          try await channel.publish(AMQPMessage(exchange: "", routingKey: queue, messageID: "\(number)", body: [1]))
        } catch let error as AMQPError where error.code == .refused {
          refused += 1
        }
      }
      #expect(refused > 0)
    }
  }

  @Test func `each message is answered once, also if the first answer ends the connection`() async throws {
    try await with { connection, channel, queue in
      let answers = Mailbox<(id: String, code: AMQPError.Code?)>(of: "answers")
      @LoopActor func publish(_ id: String) {
        channel.publish(AMQPMessage(exchange: "", routingKey: queue, messageID: id, body: []), timeout: .patience) {
          let code: AMQPError.Code? = if case .failure(let error) = $0 { error.code } else { nil }
          answers.put((id, code))
          if answers.all.count == 1 { connection.end(.connectionLost, "test", "who got the answer ends it") }
        }
      }
      for number in 0..<4 { publish("\(number)") }
      let all = try await answers.wait(for: 4)
      #expect(all.map(\.id).sorted() == ["0", "1", "2", "3"])
      // Some may have been confirmed together with the first one.
      #expect(all[0].code == nil && all.allSatisfy { $0.code == nil || $0.code == .connectionLost })
      publish("late")
      #expect(answers.all.last?.code == .connectionLost)
      #expect(answers.all.count == 5)
    }
  }

  @Test func `what is not acknowledged comes again`() async throws {
    try await with { connection, channel, queue in
      let first = Mailbox<AMQPDelivery>(of: "first deliveries")
      let other = try await connection.openChannel()
      try await other.consume(queue, tag: "first") { first.put($0) }
      try await channel.publish(AMQPMessage(exchange: "", routingKey: queue, messageID: "m", body: [7]))
      try await first.wait(for: 1)
      await other.close()
      let second = Mailbox<AMQPDelivery>(of: "second deliveries")
      try await channel.consume(queue, tag: "second") { second.put($0) }
      let again = try await second.wait(for: 1)[0]
      #expect(again.isRedelivered)
      #expect(again.body == [7])
    }
  }

  @Test func `a queue with other arguments ends the channel and says why`() async throws {
    try await with { connection, channel, queue in
      let other = try await connection.openChannel()
      let error = await #expect(throws: AMQPError.self) {
        try await other.declareQueue(queue, arguments: ["x-queue-type": "classic"])
      }
      #expect(error?.code == .channelClosed)
      #expect(error?.operation == "declare queue \(queue)")
      #expect(error?.cause.contains("PRECONDITION_FAILED") == true)
      #expect(other.failure?.code == .channelClosed)
      // The connection and its other channels go on.
      try await channel.publish(AMQPMessage(exchange: "", routingKey: queue, messageID: "m", body: [1]))
    }
  }

  @Test(.enabled(if: TestServers.current?.isCluster != true, "a node of a cluster may not tell its consumers"))
  func `a queue that is deleted ends its consumer's channel`() async throws {
    try await with { connection, channel, queue in
      let other = try await connection.openChannel()
      try await other.consume(queue, tag: "c") { _ in }
      try await channel.deleteQueue(queue)
      let ends = Mailbox<AMQPError>(of: "ends of the channel")
      Task { @LoopActor in ends.put(await other.ended()) }
      #expect(try await ends.wait(for: 1)[0].cause.contains("cancelled"))
      try await channel.declareQueue(queue, arguments: ["x-queue-type": "quorum"])
    }
  }

  @Test func `a wrong password is named, and is not in the error`() async throws {
    var wrong = endpoint
    wrong.password = "hunter2"
    let error = await #expect(throws: AMQPError.self) { try await AMQPConnection.open(wrong, name: "test") }
    #expect(error?.code == .unreachable)
    #expect(error?.cause.contains("ACCESS_REFUSED") == true)
    #expect(error.map { "\($0)".contains("hunter2") } == false)
  }

  @Test func `a closed port is an error`() async throws {
    var nobody = endpoint
    nobody.nodes = [ServerAddress(host: "127.0.0.1", port: 1)]
    let error = await #expect(throws: AMQPError.self) { try await AMQPConnection.open(nobody, name: "test") }
    #expect(error?.code == .unreachable)
    #expect(error?.target == "127.0.0.1:1")
  }
}
