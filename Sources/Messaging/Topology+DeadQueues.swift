public import AMQP
import EventLoop

/// Gives the queues of the dead of an earlier version their length (decision 0034).
extension Topology {
  /// The queue that has the messages of a queue of the dead while ``renewDeadQueues(over:tell:)`` makes it anew.
  static func holding(_ queue: String) -> String { "\(queue).held" }

  /// Makes each queue of the dead anew that has no length, with its messages.
  ///
  /// The messages move into a second queue, each one acknowledged once the broker has its copy. Then the queue goes,
  /// comes back with its length, and gets the messages back. If it is killed in between, the next call goes on from
  /// there: some messages are there twice then, and none is missing. Only a message that is buried in the very moment
  /// between the last look and the deletion goes with the old queue: `tell` says so.
  ///
  /// - Parameters:
  ///   - connection: of an account that may configure.
  ///   - tell: takes a line for each step that matters.
  /// - Throws: `AMQPError`.
  @LoopActor
  public func renewDeadQueues(
    over connection: AMQPConnection, tell: @LoopActor (String) -> Void
  ) async throws {
    let endless = try await declare(on: try await connection.openChannel())
    for queue in deadQueues {
      let holding = Self.holding(queue)
      let channel = try await connection.openChannel()
      if endless.contains(queue) {
        try await channel.declareQueue(holding, arguments: quorum.merging(["x-delivery-limit": 1_000_000]) { $1 })
        _ = try await Self.move(from: queue, to: holding, atMost: .max, over: connection)
        let lost = try await channel.deleteQueueAndCount(queue)
        if lost > 0 { tell("\(lost) messages came to \(queue) at the last moment and are lost; the log has them") }
        try await channel.declareQueue(queue, arguments: dead)
      } else {
        do {
          try await channel.declareQueue(holding, passive: true)
        } catch let error as AMQPError where error.isNotFound {
          continue
        }
      }
      let room = max(0, Self.mostDead - (try await channel.declareQueue(queue, passive: true).messages))
      let moved = try await Self.move(from: holding, to: queue, atMost: room, over: connection)
      let left = try await channel.declareQueue(holding, passive: true).messages
      if left == 0 { try await channel.deleteQueue(holding) }
      tell("\(queue) has a maximum length now; \(moved) messages are back in it")
      if left > 0 { tell("\(left) messages stay in \(holding): \(queue) is full. Delete it when nobody needs them") }
      await channel.close()
    }
  }

  /// How many messages move at a time.
  private static let atOnce = 100

  /// Moves messages until the queue is empty.
  @LoopActor
  private static func move(
    from source: String, to target: String, atMost most: Int, over connection: AMQPConnection
  ) async throws -> Int {
    let channel = try await connection.openChannel()
    try await channel.enableConfirms()
    try await channel.setPrefetch(atOnce)
    var (waiting, moved): ([AMQPDelivery], Int) = ([], 0)
    let arrived = LoopSignal()
    try await channel.consume(source, tag: "move") {
      waiting.append($0)
      arrived.notify()
    }
    while moved < most {
      let some = Array(waiting.prefix(min(atOnce, most - moved)))
      guard !some.isEmpty else {
        // A delivery that was given out before the first answer comes before the second one.
        let depth = try await channel.declareQueue(source, passive: true).messages
        try await channel.declareQueue(source, passive: true)
        if waiting.isEmpty, depth == 0 { break }
        if waiting.isEmpty { await arrived.wait(atMost: .milliseconds(100)) }
        continue
      }
      waiting.removeFirst(some.count)
      let publishing = some.map { delivery in
        Task { @LoopActor in try await channel.publish(AMQPMessage(copying: delivery, to: target)) }
      }
      for (delivery, task) in zip(some, publishing) {
        try await task.value
        channel.acknowledge(delivery)
        moved += 1
      }
    }
    // What has come beyond the most goes back.
    await channel.close()
    return moved
  }
}
