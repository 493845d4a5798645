public import EventLoop

/// Consumes one queue with manual acknowledgements over a connection of its own that comes back when lost.
@LoopActor
public final class AMQPConsumer {
  /// A delivery together with the channel that it must be acknowledged on.
  public struct Received: Sendable {
    /// The message.
    public let delivery: AMQPDelivery
    private let channel: AMQPChannel

    init(_ delivery: AMQPDelivery, _ channel: AMQPChannel) {
      self.delivery = delivery
      self.channel = channel
    }

    /// Takes the message off the queue; without effect when the connection is gone, for it is delivered again then.
    @LoopActor public func acknowledge() { channel.acknowledge(delivery) }

    /// Gives the message back; only for a consumer that stops.
    @LoopActor public func requeue() { channel.requeue(delivery) }

    /// Gives the message back after a pause, since a requeue at once would be a tight loop; the last resort when the
    /// broker takes nothing.
    @LoopActor public func requeueLater() async {
      try? await EventLoop.sleep(for: .seconds(5))
      channel.requeue(delivery)
    }
  }

  private let session: AMQPSession
  private let tag: String
  /// Whether a connection that comes back may consume again.
  private let demand: Demand

  @LoopActor
  private final class Demand {
    var isCancelled = false
  }

  /// Creates a consumer; nothing happens before ``start()``.
  ///
  /// - Parameters:
  ///   - prefetch: unacknowledged deliveries at a time.
  ///   - declare: declares the topology on each new connection before the queue is consumed.
  ///   - handler: called on the loop for each delivery.
  public init(
    _ endpoint: AMQPEndpoint, name: String, queue: String, prefetch: Int,
    onChange: @escaping @LoopActor (AMQPSession.Change) -> Void,
    declare: @escaping @LoopActor (AMQPChannel) async throws -> Void,
    handler: @escaping @LoopActor (Received) -> Void
  ) {
    let tag = name
    let demand = Demand()
    self.tag = tag
    self.demand = demand
    session = AMQPSession(
      endpoint, name: name, onChange: onChange,
      setUp: { connection in
        let channel = try await connection.openChannel()
        try await declare(channel)
        try await channel.setPrefetch(prefetch)
        guard !demand.isCancelled else { return channel }
        try await channel.consume(queue, tag: tag) { [unowned channel] delivery in
          // Also what was under way when the consumer was cancelled: left alone, it would be delivered to another one.
          handler(Received(delivery, channel))
        }
        return channel
      })
  }

  /// Whether deliveries can arrive.
  public var isReady: Bool { session.channel != nil }

  /// Starts to connect.
  public func start() { session.start() }

  /// Asks the broker for no more deliveries, now and after any reconnection; those under way still arrive until this
  /// returns.
  ///
  /// A broker that does not answer within three seconds is given up: its channel ends, and it delivers again.
  public func cancel() async {
    demand.isCancelled = true
    guard let channel = session.channel else { return }
    let limit = LoopTimer { channel.connection.end(.timeout, "cancel the consumer", "no answer from the broker") }
    limit.start(after: .seconds(3))
    try? await channel.cancel(tag)
    // RabbitMQ answers before it has sent what its queue had given out until then. All of that comes before the answer to
    // one more call, so that it is run here and not delivered to another one.
    try? await channel.setPrefetch(1)
    limit.close()
  }

  /// Closes the channel, so that the broker has every acknowledgement, and the connection.
  public func stop() async { await session.stop() }
}
