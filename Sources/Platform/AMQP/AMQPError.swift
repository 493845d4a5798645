import CRabbitMQ

/// An AMQP operation that failed.
public struct AMQPError: Error, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Code: String, Sendable {
    /// The client could open no connection, or the broker refused the log-in.
    case unreachable
    /// The connection ended. Nobody knows whether the unconfirmed messages arrived.
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
    /// This process closed the connection or the channel.
    case closed
  }

  /// The kind of failure.
  public let code: Code
  /// The operation that failed.
  public let operation: String
  /// Host and port of the broker.
  public let target: String
  /// The text of the broker, librabbitmq, OpenSSL or the system.
  public let cause: String

  /// Creates an error.
  public init(_ code: Code, operation: String, target: String, cause: String) {
    self.code = code
    self.operation = operation
    self.target = target
    self.cause = cause
  }

  /// Whether the broker, or the check of its certificate, refused the connection for a reason that only a person can
  /// mend: the log-in, the virtual host, or the certificate. A broker that cannot be reached, or has no room, is none.
  public var isRefusal: Bool {
    guard code == .unreachable else { return false }
    if cause.contains("403 ACCESS_REFUSED") || cause.contains("certificate verify failed") { return true }
    // A limit of connections and a virtual host that is down pass.
    return cause.contains("530 NOT_ALLOWED") && !cause.contains("limit") && !cause.contains("is down")
  }
  /// Whether the account lacks a right for it (AMQP 0-9-1, `access-refused`).
  public var isAccessRefused: Bool { code == .channelClosed && cause.hasPrefix("403 ") }
  /// Whether the queue or the exchange does not exist (AMQP 0-9-1, `not-found`).
  public var isNotFound: Bool { code == .channelClosed && cause.hasPrefix("404 ") }

  public var description: String { "\(operation) at \(target): \(cause) (\(code.rawValue))" }
}

/// librabbitmq's text for a status.
func statusText(_ status: Int32) -> String { String(cString: amqp_error_string2(status)) }
