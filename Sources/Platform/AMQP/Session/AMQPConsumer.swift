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

  private var session: AMQPSession!
  private let tag: String
  private let consume: @LoopActor (AMQPChannel) async throws -> Void
  private let demand = Demand()
  private let probe: AMQPProbe?
  private let cancelLimit: Duration
  /// The changes of the consumption run one after the other.
  private var change: Task<Void, Never>?

  /// What is wanted, and what is so.
  @LoopActor
  private final class Demand {
    /// Whether deliveries are wanted.
    var isWanted = true
    /// The channel that consumes.
    weak var consuming: AMQPChannel?
    var lastDelivery = ContinuousClock.now
  }

  /// Creates a consumer. Nothing happens before ``start()``.
  ///
  /// - Parameters:
  ///   - endpoint: the consumer asks for it at each opening of a connection.
  ///   - prefetch: unacknowledged deliveries at a time.
  ///   - probe: notices a node that delivers nothing; a consumer without one may stay silent.
  ///   - cancelLimit: how long ``cancel()`` and ``pause()`` wait for the broker.
  ///   - declare: declares the topology on each new connection, before the consumer consumes the queue.
  ///   - handler: the consumer calls it on the loop for each delivery.
  public init(
    _ endpoint: @escaping @LoopActor () -> AMQPEndpoint, name: String, queue: String, prefetch: Int,
    probe: AMQPProbe? = nil, cancelLimit: Duration = .seconds(3),
    onChange: @escaping @LoopActor (AMQPSession.Change) -> Void,
    declare: @escaping @LoopActor (AMQPChannel) async throws -> Void,
    handler: @escaping @LoopActor (Received) -> Void
  ) {
    let (tag, demand) = (name, self.demand)
    let consume: @LoopActor (AMQPChannel) async throws -> Void = { channel in
      try await channel.setPrefetch(prefetch)
      // A delivery may come before the answer.
      (demand.consuming, demand.lastDelivery) = (channel, .now)
      try await channel.consume(queue, tag: tag) { [unowned channel] delivery in
        demand.lastDelivery = .now
        // The handler also gets deliveries that were under way at the cancellation. Otherwise the broker would
        // deliver them to another consumer.
        handler(Received(delivery, channel))
      }
    }
    self.consume = consume
    self.tag = tag
    self.probe = probe
    self.cancelLimit = cancelLimit
    session = AMQPSession(
      endpoint, name: name,
      onChange: { [weak self] change in
        onChange(change)
        // What is wanted may have changed while the connection was opened.
        if case .connected = change { self?.follow() }
      },
      setUp: { [weak self] connection in
        let channel = try await connection.openChannel()
        try await declare(channel)
        try await probe?.watch(channel) {
          self?.session.reopen("consume", "the node confirms nothing: it may be cut off from the others")
        }
        if demand.isWanted { try await consume(channel) }
        return channel
      })
  }

  /// Whether deliveries can arrive.
  public var isReady: Bool { session.channel != nil }

  /// Why no deliveries can arrive, for a person; `nil` if they can.
  public var trouble: String? { session.trouble }

  /// Starts to connect.
  public func start() { session.start() }

  /// Asks the broker for no more deliveries, now and after any reconnection. Deliveries under way still arrive until
  /// this returns.
  ///
  /// If the broker does not answer in time, three seconds by default, the connection ends. The broker then delivers
  /// again.
  public func cancel() async {
    let limit = session.channel.map(limit)
    pause()
    await change?.value
    limit?.close()
  }

  /// Takes no deliveries until ``resume()``, for example while another server is away.
  public func pause() {
    demand.isWanted = false
    follow()
  }

  /// Takes deliveries again.
  public func resume() {
    demand.isWanted = true
    follow()
  }

  /// Opens another connection if deliveries are wanted and none has come for so long. Call it when the queue has
  /// messages and nothing is unacknowledged: then the broker has lost sight of this consumer.
  public func reopenIfIdle(for time: Duration) {
    guard demand.isWanted, demand.consuming != nil, .now - demand.lastDelivery >= time else { return }
    session.reopen("consume", "the queue has messages, and the broker delivers none")
  }

  /// Makes the channel consume, or not, as it is wanted when the changes before have ended.
  private func follow() {
    let before = change
    change = Task { @LoopActor in
      await before?.value
      // A new connection consumes by itself.
      guard let channel = session.channel, demand.isWanted != (demand.consuming === channel) else { return }
      if demand.isWanted { await begin(channel) } else { await end(channel) }
    }
  }

  private func begin(_ channel: AMQPChannel) async {
    do {
      try await consume(channel)
    } catch {
      channel.connection.end(.channelClosed, "consume again", "\(error)")
    }
  }

  private func end(_ channel: AMQPChannel) async {
    let limit = limit(channel)
    defer { limit.close() }
    try? await channel.cancel(tag)
    demand.consuming = nil
    // RabbitMQ answers before it has sent all deliveries that its queue had given out until then. They all come before
    // the answer to one more call. So this consumer handles them, and no other consumer gets them.
    try? await channel.setPrefetch(1)
  }

  private func limit(_ channel: AMQPChannel) -> LoopTimer {
    let limit = LoopTimer { channel.connection.end(.timeout, "cancel the consumer", "no answer from the broker") }
    limit.start(after: cancelLimit)
    return limit
  }

  /// Closes the channel, so that the broker has every acknowledgement, and then the connection.
  public func stop() async {
    probe?.stop()
    await session.stop()
  }
}
