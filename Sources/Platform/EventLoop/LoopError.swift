import CUV

/// An operation of the loop that failed, with libuv's reason.
public struct LoopError: Error, CustomStringConvertible {
  /// The operation that failed.
  public let operation: String
  /// libuv's text for the failure.
  public let cause: String

  init(operation: String, status: Int32) {
    self.operation = operation
    cause = String(cString: uv_strerror(status))
  }

  public var description: String { "\(operation): \(cause)" }
}
