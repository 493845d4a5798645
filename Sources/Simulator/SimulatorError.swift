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

  /// - Parameter code: of `errno`, kept right after the failed call.
  static func system(_ operation: String, _ code: Int32) -> SimulatorError {
    SimulatorError(operation: operation, cause: String(cString: strerror(code)))
  }

  public var description: String { "could not \(operation): \(cause)" }
}
