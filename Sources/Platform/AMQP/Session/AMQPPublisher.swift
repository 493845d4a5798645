public import EventLoop

/// Publishes with confirms. It has its own connection and opens it again when it is lost.
@LoopActor
public final class AMQPPublisher {
  private let session: AMQPSession
  private let ready: LoopSignal
  private let followers: Followers<AMQPSession.Change>
  private var refusals = Refusals()

  /// Creates a publisher. Nothing happens before ``start()``.
  ///
  /// - Parameters:
  ///   - endpoint: the publisher asks for it at each opening of a connection.
  ///   - declare: declares the topology on each new connection, before the publisher publishes on it.
  public init(
    _ endpoint: @escaping @LoopActor () -> AMQPEndpoint, name: String,
    onChange: @escaping @LoopActor (AMQPSession.Change) -> Void,
    declare: @escaping @LoopActor (AMQPChannel) async throws -> Void
  ) {
    let (ready, followers) = (LoopSignal(), Followers<AMQPSession.Change>())
    (self.ready, self.followers) = (ready, followers)
    session = AMQPSession(
      endpoint, name: name,
      onChange: { change in
        onChange(change)
        followers.tell(change)
        ready.notify()
      },
      setUp: { connection in
        let channel = try await connection.openChannel()
        try await declare(channel)
        try await channel.enableConfirms()
        return channel
      })
  }

  /// Calls a handler at each change of the connection from now on.
  public func follow(_ handler: @escaping @LoopActor (AMQPSession.Change) -> Void) { followers.add(handler) }

  /// Starts to connect.
  public func start() { session.start() }

  /// Closes the connection.
  public func stop() async {
    await session.stop()
    ready.notify()
  }

  /// Whether a message could be published now.
  public var isReady: Bool { session.isReady }

  /// Why no message could be published now, for a person; `nil` if one could.
  public var trouble: String? {
    session.trouble ?? (isReady ? nil : "the broker has raised an alarm and takes no messages")
  }

  /// The current channel, for questions such as a queue's depth; `nil` without a connection.
  public var channel: AMQPChannel? { session.channel }

  /// Publishes once and returns when the broker has confirmed. It fails at once without a connection and during an
  /// alarm.
  ///
  /// It is for a caller that can tell somebody to try later, as the gateway does.
  ///
  /// - Throws: ``AMQPError``.
  public func publish(_ message: AMQPMessage, timeout: Duration = .seconds(30)) async throws {
    try await withCheckedThrowingContinuation { waiter in
      publish(message, timeout: timeout) { waiter.resume(with: $0) }
    }
  }

  /// Publishes once, and calls `then` with the broker's answer, or at once without a connection and during an alarm.
  ///
  /// - Parameter then: called once, perhaps before this returns.
  public func publish(
    _ message: AMQPMessage, timeout: Duration, then: @escaping @LoopActor (AMQPMessage.Answer) -> Void
  ) {
    guard let channel = session.channel else {
      return then(
        .failure(AMQPError(.unreachable, operation: "publish", target: session.target, cause: "no connection")))
    }
    channel.publish(message, timeout: timeout) { [self, target = message.target] answer in
      note(answer, target)
      then(answer)
    }
  }

  /// Notes whether the broker takes messages for a target, and opens another connection if it has not for a while.
  private func note(_ answer: AMQPMessage.Answer, _ target: String) {
    switch answer {
    case .success: _ = refusals.note(isTaken: true, target, at: .now)
    case .failure(let error) where error.code == .refused || error.code == .timeout:
      // During an alarm the broker reads nothing from any connection.
      if session.isReady, refusals.note(isTaken: false, target, at: .now) {
        session.reopen("publish", "the broker takes nothing for the \(target)")
      }
    case .failure: break
    }
  }

  private static let mostWait = Duration.seconds(15)

  /// Publishes until the broker confirms, over as many connections as necessary: at least once, with the same id.
  ///
  /// - Throws: ``AMQPError`` when the broker refuses the message, when no queue takes it, or when `patience` is over.
  public func publishSurely(_ message: AMQPMessage, patience: Duration = .seconds(600)) async throws {
    let deadline = ContinuousClock.now + patience
    while true {
      do {
        // The publisher waits long for a late confirm: a second copy beside the first would only add to a slow
        // broker's work. But the broker may have lost the message, and the caller waits.
        return try await publish(
          message, timeout: max(.milliseconds(1), min(Self.mostWait, deadline - ContinuousClock.now)))
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
