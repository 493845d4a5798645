public import AMQP
public import EventLoop

/// The part of the broker that a role publishes to.
@LoopActor
public protocol MessageBroker {
  /// Publishes a message once, and returns when the broker has confirmed it.
  func publish(_ message: AMQPMessage) async throws
  /// Publishes a message, and tries again until the broker confirms it.
  func publishSurely(_ message: AMQPMessage) async throws
}

extension AMQPPublisher: MessageBroker {
  public func publish(_ message: AMQPMessage) async throws { try await publish(message, timeout: .seconds(30)) }
  public func publishSurely(_ message: AMQPMessage) async throws {
    try await publishSurely(message, patience: .seconds(600))
  }
}
