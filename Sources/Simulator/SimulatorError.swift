import Glibc

/// A simulator that could not be set up.
public struct SimulatorError: Error, Sendable, CustomStringConvertible {
  /// What was tried.
  public let operation: String
  /// Why it failed.
  public let cause: String

  init(operation: String, cause: String) {
    self.operation = operation
    self.cause = cause
  }

  /// Takes `errno`; call it right after the failed call.
  static func system(_ operation: String) -> SimulatorError {
    SimulatorError(operation: operation, cause: String(cString: strerror(errno)))
  }

  public var description: String { "could not \(operation): \(cause)" }
}
