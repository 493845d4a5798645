public import EventLoop

/// Publishes with confirms over a connection of its own that comes back when lost.
@LoopActor
public final class AMQPPublisher {
  private let session: AMQPSession
  private let ready: LoopSignal

  /// Creates a publisher; nothing happens before ``start()``.
  ///
  /// - Parameter declare: declares the topology on each new connection before anything is published.
  public init(
    _ endpoint: AMQPEndpoint, name: String, onChange: @escaping @LoopActor (AMQPSession.Change) -> Void,
    declare: @escaping @LoopActor (AMQPChannel) async throws -> Void
  ) {
    let ready = LoopSignal()
    self.ready = ready
    session = AMQPSession(
      endpoint, name: name,
      onChange: { change in
        onChange(change)
        ready.notify()
      },
      setUp: { connection in
        let channel = try await connection.openChannel()
        try await declare(channel)
        try await channel.enableConfirms()
        return channel
      })
  }

  /// Starts to connect.
  public func start() { session.start() }

  /// Closes the connection.
  public func stop() async {
    await session.stop()
    ready.notify()
  }

  /// Whether a message could be published now.
  public var isReady: Bool { session.isReady }

  /// The current channel, for questions such as a queue's depth; `nil` while there is no connection.
  public var channel: AMQPChannel? { session.channel }

  /// Publishes once and returns when confirmed; fails at once while there is no connection or an alarm is on.
  ///
  /// For a caller that can say "try later" to somebody, as the gateway does.
  ///
  /// - Throws: ``AMQPError``.
  public func publish(_ message: AMQPMessage, timeout: Duration = .seconds(10)) async throws {
    guard let channel = session.channel else {
      throw AMQPError(.unreachable, operation: "publish", target: session.endpoint.description, cause: "no connection")
    }
    try await channel.publish(message, timeout: timeout)
  }

  /// Publishes until it is confirmed, over as many connections as it takes: at least once, with the same id.
  ///
  /// - Throws: ``AMQPError`` when the broker refuses the message, when no queue takes it, or when `patience` is over.
  public func publishSurely(_ message: AMQPMessage, patience: Duration = .seconds(600)) async throws {
    let deadline = ContinuousClock.now + patience
    while true {
      do {
        // A late confirm is waited for: publishing again beside the first copy would only add to a slow broker's work.
        return try await publish(message, timeout: max(.milliseconds(1), deadline - ContinuousClock.now))
      } catch let error as AMQPError {
        let isPassing = [.unreachable, .connectionLost, .channelClosed, .blocked, .timeout, .closed].contains(
          error.code)
        let left = deadline - ContinuousClock.now
        guard isPassing, left > .zero, !Task.isCancelled, !session.isStopping else { throw error }
        if !session.isReady { await ready.wait(atMost: left) }
      }
    }
  }
}
