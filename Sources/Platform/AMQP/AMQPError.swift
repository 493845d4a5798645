import CRabbitMQ

/// An AMQP operation that failed.
public struct AMQPError: Error, Sendable, CustomStringConvertible {
  /// What went wrong, by kind.
  public enum Code: String, Sendable {
    /// No connection could be opened, or the log-in was refused.
    case unreachable
    /// The connection ended; unconfirmed messages may or may not have arrived.
    case connectionLost
    /// The broker closed the channel, for example because a queue exists with other arguments.
    case channelClosed
    /// The broker refused the message (`basic.nack`), for example because the queue is full.
    case refused
    /// The message cannot be sent to any broker, for example because a name is longer than AMQP allows.
    case invalid
    /// No queue was bound for the message (`basic.return`).
    case unroutable
    /// The broker has raised an alarm and takes no messages (`connection.blocked`).
    case blocked
    /// No confirm came in time.
    case timeout
    /// We closed it.
    case closed
  }

  /// The kind of failure.
  public let code: Code
  /// What was tried.
  public let operation: String
  /// Host and port of the broker.
  public let target: String
  /// The broker's or librabbitmq's text.
  public let cause: String

  /// Creates an error.
  public init(_ code: Code, operation: String, target: String, cause: String) {
    self.code = code
    self.operation = operation
    self.target = target
    self.cause = cause
  }

  public var description: String { "\(operation) at \(target): \(cause) (\(code.rawValue))" }
}

/// librabbitmq's text for a status.
func statusText(_ status: Int32) -> String { String(cString: amqp_error_string2(status)) }
