/// A connection that could not be opened.
public struct ConnectError: Error, Sendable, CustomStringConvertible {
  /// Host and port.
  public let target: String
  /// The system's text for the last address that was tried.
  public let cause: String

  public var description: String { "connect to \(target): \(cause)" }
}
