import CNGHTTP2

/// A step of the protocol that failed. It ends the connection.
package struct HTTP2SessionError: Error, CustomStringConvertible {
  /// The step that failed.
  let operation: String
  /// The text of nghttp2 or of this module.
  let cause: String

  /// Creates an error with a text of this module.
  package init(operation: String, cause: String) { (self.operation, self.cause) = (operation, cause) }

  /// Takes a status of nghttp2.
  init(_ operation: String, _ status: Int) {
    self.init(operation: operation, cause: String(cString: nghttp2_strerror(Int32(status))))
  }

  package var description: String { "could not \(operation): \(cause)" }
}
