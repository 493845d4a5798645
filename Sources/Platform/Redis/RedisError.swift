/// A Redis command that failed.
public struct RedisError: Error, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Code: String, Sendable {
    /// There was no connection, so the client did not send the command.
    case unreachable
    /// The connection ended. Nobody knows whether Redis executed the command.
    case connectionLost
    /// No reply came in time. Nobody knows whether Redis executed the command.
    case timeout
    /// Redis answered with an error.
    case reply
  }

  /// The kind of failure.
  public let code: Code
  /// The command's name, without its arguments.
  public let operation: String
  /// Host and port.
  public let target: String
  /// The text of Redis, hiredis, OpenSSL or the system.
  public let cause: String

  /// Creates an error.
  public init(_ code: Code, operation: String, target: String, cause: String) {
    self.code = code
    self.operation = operation
    self.target = target
    self.cause = cause
  }

  /// Whether Redis, or the check of its certificate, refused the connection for a reason that only a person can mend:
  /// the user, the password, the database, or the certificate. A Redis that cannot be reached is none.
  public var isRefusal: Bool {
    switch code {
    // With sentinels, the causes of all of them stand in one text.
    case .reply, .unreachable: Self.refusals.contains(where: cause.contains)
    case .connectionLost, .timeout: false
    }
  }

  private static let refusals = [
    "WRONGPASS ", "NOAUTH ", "ERR invalid password", "ERR AUTH <password> called without any password",
    "ERR DB index is out of range", "ERR invalid DB index", "certificate verify failed",
  ]

  public var description: String { "\(operation) at \(target): \(cause) (\(code.rawValue))" }
}
