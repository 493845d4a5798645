import Glibc

/// An error while a simulator starts.
public struct SimulatorError: Error, Sendable, CustomStringConvertible {
  /// The operation that failed.
  public let operation: String
  /// The cause of the failure.
  public let cause: String

  init(operation: String, cause: String) {
    self.operation = operation
    self.cause = cause
  }

  /// Reads `errno`; call it right after the failed call.
  static func system(_ operation: String) -> SimulatorError {
    SimulatorError(operation: operation, cause: String(cString: strerror(errno)))
  }

  public var description: String { "could not \(operation): \(cause)" }
}
