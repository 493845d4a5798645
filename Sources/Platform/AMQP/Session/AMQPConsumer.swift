public import EventLoop

/// Consumes one queue with manual acknowledgements. It has its own connection and opens it again when it is lost.
@LoopActor
public final class AMQPConsumer {
  /// A delivery, together with the channel on which it must be acknowledged.
  public struct Received: Sendable {
    /// The message.
    public let delivery: AMQPDelivery
    private let channel: AMQPChannel

    init(_ delivery: AMQPDelivery, _ channel: AMQPChannel) {
      self.delivery = delivery
      self.channel = channel
    }

    /// Takes the message off the queue. It does nothing if the connection is gone, since the broker then delivers
    /// again.
    @LoopActor public func acknowledge() { channel.acknowledge(delivery) }

    /// Gives the message back. Use it only for a consumer that stops.
    @LoopActor public func requeue() { channel.requeue(delivery) }

    /// Gives the message back after a pause, since a requeue at once would be a tight loop.
    ///
    /// It is the last resort when the broker takes no messages.
    @LoopActor public func requeueLater() async {
      try? await EventLoop.sleep(for: .seconds(5))
      channel.requeue(delivery)
    }
  }

  private let session: AMQPSession
  private let tag: String
  private let consume: @LoopActor (AMQPChannel) async throws -> Void
  /// The cancellation or the return that is under way.
  private var change: Task<Void, Never>?
  /// Whether a new connection may consume again.
  private let demand: Demand

  @LoopActor
  private final class Demand {
    var isCancelled = false
  }

  /// Creates a consumer. Nothing happens before ``start()``.
  ///
  /// - Parameters:
  ///   - endpoint: the consumer asks for it at each opening of a connection.
  ///   - prefetch: unacknowledged deliveries at a time.
  ///   - declare: declares the topology on each new connection, before the consumer consumes the queue.
  ///   - handler: the consumer calls it on the loop for each delivery.
  public init(
    _ endpoint: @escaping @LoopActor () -> AMQPEndpoint, name: String, queue: String, prefetch: Int,
    onChange: @escaping @LoopActor (AMQPSession.Change) -> Void,
    declare: @escaping @LoopActor (AMQPChannel) async throws -> Void,
    handler: @escaping @LoopActor (Received) -> Void
  ) {
    let tag = name
    let demand = Demand()
    let consume: @LoopActor (AMQPChannel) async throws -> Void = { channel in
      try await channel.setPrefetch(prefetch)
      try await channel.consume(queue, tag: tag) { [unowned channel] delivery in
        // The handler also gets deliveries that were under way at the cancellation. Otherwise the broker would
        // deliver them to another consumer.
        handler(Received(delivery, channel))
      }
    }
    self.consume = consume
    self.tag = tag
    self.demand = demand
    session = AMQPSession(
      endpoint, name: name, onChange: onChange,
      setUp: { connection in
        let channel = try await connection.openChannel()
        try await declare(channel)
        guard !demand.isCancelled else { return channel }
        try await consume(channel)
        return channel
      })
  }

  /// Whether deliveries can arrive.
  public var isReady: Bool { session.channel != nil }

  /// Starts to connect.
  public func start() { session.start() }

  /// Asks the broker for no more deliveries, now and after any reconnection. Deliveries under way still arrive until
  /// this returns.
  ///
  /// If the broker does not answer within three seconds, the connection ends. The broker then delivers again.
  public func cancel() async {
    demand.isCancelled = true
    guard let channel = session.channel else { return }
    let limit = LoopTimer { channel.connection.end(.timeout, "cancel the consumer", "no answer from the broker") }
    limit.start(after: .seconds(3))
    try? await channel.cancel(tag)
    // RabbitMQ answers before it has sent all deliveries that its queue had given out until then. They all come before
    // the answer to one more call. So this consumer handles them, and no other consumer gets them.
    try? await channel.setPrefetch(1)
    limit.close()
  }

  /// Takes no deliveries until ``resume()``, for example while another server is away.
  public func pause() {
    guard !demand.isCancelled else { return }
    demand.isCancelled = true
    next { [self] in await cancel() }
  }

  /// Takes deliveries again.
  public func resume() {
    guard demand.isCancelled else { return }
    demand.isCancelled = false
    next { [self] in
      guard !demand.isCancelled, let channel = session.channel else { return }
      do {
        try await consume(channel)
      } catch {
        // A new connection consumes by itself.
        channel.connection.end(.channelClosed, "consume again", "\(error)")
      }
    }
  }

  /// Runs one change after the other.
  private func next(_ work: @escaping @LoopActor () async -> Void) {
    let before = change
    change = Task { @LoopActor in
      await before?.value
      await work()
    }
  }

  /// Closes the channel, so that the broker has every acknowledgement, and then the connection.
  public func stop() async { await session.stop() }
}
