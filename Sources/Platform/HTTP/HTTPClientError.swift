/// A call that got no complete answer.
public struct HTTPClientError: Error, Sendable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Code: String, Sendable {
    /// The client could not resolve the name or open a connection.
    case unreachable
    /// The client's configuration allows no address of the host.
    case forbiddenAddress
    /// The TLS handshake failed, or the client did not trust the certificate.
    case tls
    /// The time limit of the request passed.
    case timeout
    /// The connection ended before the answer did.
    case interrupted
    /// The answer was longer than the request allows.
    case responseTooLarge
    /// The client cannot send the request, for example because its URL is malformed.
    case invalidRequest
    /// Somebody closed the client or cancelled the calling task.
    case cancelled
  }

  /// The kind of failure.
  public let code: Code
  /// Method and host. It never has the path or the query, which may carry ids.
  public let target: String
  /// The text of the library, of the system, or of the client itself.
  public let cause: String

  /// Creates an error.
  public init(code: Code, target: String, cause: String) {
    self.code = code
    self.target = target
    self.cause = cause
  }

  public var description: String { "\(target): \(cause) (\(code.rawValue))" }
}
