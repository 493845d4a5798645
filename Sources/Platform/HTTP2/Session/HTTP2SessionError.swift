import CNGHTTP2

/// A step of the protocol that failed and ends the connection.
package struct HTTP2SessionError: Error, CustomStringConvertible {
  /// What was tried.
  let operation: String
  /// nghttp2's text, or our own.
  let cause: String

  /// Creates an error of our own.
  package init(operation: String, cause: String) { (self.operation, self.cause) = (operation, cause) }

  /// Takes a status of nghttp2's.
  init(_ operation: String, _ status: Int) {
    self.init(operation: operation, cause: String(cString: nghttp2_strerror(Int32(status))))
  }

  package var description: String { "could not \(operation): \(cause)" }
}
