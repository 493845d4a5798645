import CNGHTTP2

/// A step of the server that failed.
struct HTTP2ServerError: Error, CustomStringConvertible {
  /// What was tried.
  let operation: String
  /// nghttp2's text, or our own.
  let cause: String

  static func protocolFailure(_ operation: String, _ status: Int) -> HTTP2ServerError {
    HTTP2ServerError(operation: operation, cause: String(cString: nghttp2_strerror(Int32(status))))
  }

  var description: String { "could not \(operation): \(cause)" }
}
