public import AMQP
public import EventLoop

/// The part of the broker that a role publishes to.
@LoopActor
public protocol MessageBroker {
  /// Publishes a message once, and calls `then` once with the broker's answer, perhaps before this returns.
  func publish(_ message: AMQPMessage, then: @escaping @LoopActor (AMQPMessage.Answer) -> Void)
  /// Publishes a message, and tries again until the broker confirms it.
  func publishSurely(_ message: AMQPMessage) async throws
}

extension AMQPPublisher: MessageBroker {
  public func publish(_ message: AMQPMessage, then: @escaping @LoopActor (AMQPMessage.Answer) -> Void) {
    publish(message, timeout: .seconds(30), then: then)
  }
  public func publishSurely(_ message: AMQPMessage) async throws {
    try await publishSurely(message, patience: .seconds(600))
  }
}
