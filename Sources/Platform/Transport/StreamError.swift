/// A connection that could not be opened, or that has ended.
public struct StreamError: Error, Sendable, CustomStringConvertible {
  /// The step that failed: `prepare TLS`, `connect`, `shake hands over TLS`, `send` or `receive`.
  public let operation: String
  /// Host and port.
  public let target: String
  /// The text of the system or of OpenSSL.
  public let cause: String

  public var description: String { "\(operation) at \(target): \(cause)" }
}
