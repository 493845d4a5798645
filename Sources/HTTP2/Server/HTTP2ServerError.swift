import CNGHTTP2
import Glibc

/// A step of the server that failed.
public struct HTTP2ServerError: Error, Sendable, CustomStringConvertible {
  /// What was tried.
  public let operation: String
  /// The system's or the library's text.
  public let cause: String

  init(operation: String, cause: String) {
    self.operation = operation
    self.cause = cause
  }

  /// Takes `errno`; call it right after the failed call.
  static func system(_ operation: String) -> HTTP2ServerError {
    HTTP2ServerError(operation: operation, cause: String(cString: strerror(errno)))
  }

  static func protocolFailure(_ operation: String, _ status: Int) -> HTTP2ServerError {
    HTTP2ServerError(operation: operation, cause: String(cString: nghttp2_strerror(Int32(status))))
  }

  public var description: String { "could not \(operation): \(cause)" }
}
