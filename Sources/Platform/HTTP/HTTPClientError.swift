/// A call that got no complete answer.
public struct HTTPClientError: Error, Sendable, CustomStringConvertible {
  /// What went wrong, by kind.
  public enum Code: String, Sendable {
    /// The name could not be resolved or no connection could be opened.
    case unreachable
    /// Every address of the host is one that the client's configuration does not allow.
    case forbiddenAddress
    /// The TLS handshake failed or the certificate was not trusted.
    case tls
    /// The time limit of the request passed.
    case timeout
    /// The connection ended before the answer did.
    case interrupted
    /// The answer was longer than the request allows.
    case responseTooLarge
    /// The request itself cannot be sent, for example because its URL is malformed.
    case invalidRequest
    /// The client was closed or the calling task cancelled.
    case cancelled
  }

  /// The kind of failure.
  public let code: Code
  /// Method and host, never the path or the query, which may carry ids.
  public let target: String
  /// What the library or the system said, or our own words.
  public let cause: String

  /// Creates an error.
  public init(code: Code, target: String, cause: String) {
    self.code = code
    self.target = target
    self.cause = cause
  }

  public var description: String { "\(target): \(cause) (\(code.rawValue))" }
}
