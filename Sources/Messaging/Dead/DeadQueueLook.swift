public import AMQP
public import EventLoop

/// Takes what a queue of the dead has at the beginning, and gives back what stays, in order.
///
/// It takes a few messages at a time with a consumer that has no room for more. So it never touches a message that
/// comes after the beginning, also if it acknowledges some. What stays is held until the end: a message that is given
/// back at once would come again.
@LoopActor
public struct DeadQueueLook {
  /// What became of some messages.
  public struct Step: Sendable {
    /// Those that leave the queue. All that they need is done.
    public var settled: [AMQPDelivery]
    /// Whether the look goes on.
    public var goesOn: Bool

    /// Creates a step.
    public init(settled: [AMQPDelivery] = [], goesOn: Bool = true) {
      (self.settled, self.goesOn) = (settled, goesOn)
    }
  }

  private let channel: AMQPChannel
  private let queue: String
  /// For each consumer, the tags of what stays, in the order of the queue.
  private var held: [[UInt64]] = []
  private var consumers = 0

  /// How long nothing may come that the queue has, as while its leader is elected.
  private static let patience = Duration.seconds(15)
  /// How long the look waits for the queue to have everything back.
  private static let returning = Duration.seconds(60)

  /// The most messages of one return that keep their order.
  private static let mostReturned = 32

  private init(_ channel: AMQPChannel, _ queue: String) { (self.channel, self.queue) = (channel, queue) }

  /// Looks at each message once, the oldest first.
  ///
  /// - Parameters:
  ///   - atOnce: how many messages a step gets at most.
  ///   - body: decides about some messages.
  /// - Returns: how many messages it has looked at.
  /// - Throws: `AMQPError`, or what `body` throws. Then the messages of this step stay, too.
  public static func run(
    _ queue: String, over connection: AMQPConnection, atOnce: Int = 250,
    _ body: @LoopActor ([AMQPDelivery]) async throws -> Step
  ) async throws -> Int {
    var look = DeadQueueLook(try await connection.openChannel(), queue)
    let count = try await look.channel.declareQueue(queue, passive: true).messages
    do {
      let looked = try await look.run(count, atOnce, body)
      await look.giveBack()
      return looked
    } catch {
      await look.giveBack()
      throw error
    }
  }

  private mutating func run(
    _ count: Int, _ atOnce: Int, _ body: @LoopActor ([AMQPDelivery]) async throws -> Step
  ) async throws -> Int {
    var looked = 0
    while looked < count {
      let some = try await take(min(atOnce, count - looked))
      guard !some.isEmpty else { break }
      looked += some.count
      // Until the step is done, all of it stays.
      held.append(some.map(\.tag))
      let step = try await body(some)
      let settled = Set(step.settled.map(\.tag))
      for delivery in step.settled { channel.acknowledge(delivery) }
      held[held.count - 1].removeAll(where: settled.contains)
      guard step.goesOn else { break }
    }
    return looked
  }

  /// Takes the next messages. There are fewer if the queue has no more: its oldest ones may give way meanwhile, or
  /// another person's command may have them.
  private mutating func take(_ wanted: Int) async throws -> [AMQPDelivery] {
    let (got, arrived) = (Got(), LoopSignal())
    consumers += 1
    let tag = "look-\(consumers)"
    try await channel.setPrefetch(wanted)
    try await channel.consume(queue, tag: tag) {
      got.deliveries.append($0)
      arrived.notify()
    }
    var (seen, idle, deadline) = (0, 0, ContinuousClock.now + Self.patience)
    while got.deliveries.count < wanted, idle < 3, .now < deadline {
      let depth = try await channel.declareQueue(queue, passive: true).messages
      if got.deliveries.count > seen {
        (seen, idle, deadline) = (got.deliveries.count, 0, .now + Self.patience)
      } else if depth == 0 {
        idle += 1
      }
      if got.deliveries.count < wanted { await arrived.wait(atMost: .milliseconds(100)) }
    }
    try await channel.cancel(tag)
    return got.deliveries
  }

  /// Gives back what stays, some messages of one consumer after the others.
  ///
  /// RabbitMQ puts what it gets back behind what it has got back before. But it goes through the messages of one return
  /// in the order of an Erlang map, which is that of its keys up to 32 of them. A queue also collects answers while it
  /// replicates earlier ones. So each part is small, and waits for the one before.
  private func giveBack() async {
    guard var expected = await depth(), held.contains(where: { !$0.isEmpty }) else { return await channel.close() }
    let deadline = ContinuousClock.now + Self.returning
    for tags in held {
      var rest = tags[...]
      while !rest.isEmpty {
        let some = rest.prefix(Self.mostReturned)
        rest = rest.dropFirst(some.count)
        channel.requeueAll(upTo: some.last ?? 0)
        expected += some.count
        // Beyond its length the queue drops the oldest.
        while .now < deadline, let depth = await depth(), depth < min(expected, Topology.mostDead) {
          try? await EventLoop.sleep(for: .milliseconds(2))
        }
      }
    }
    await channel.close()
  }

  /// How many messages the queue has for others; `nil` if the channel has ended.
  private func depth() async -> Int? { try? await channel.declareQueue(queue, passive: true).messages }

  @LoopActor
  private final class Got {
    var deliveries: [AMQPDelivery] = []
  }
}
