import CNGHTTP2

/// nghttp2's table of callbacks, freed with this value's last copy; a session copies what it needs.
final class HTTP2Callbacks {
  let pointer: OpaquePointer

  /// Makes a table and has it filled.
  ///
  /// - Throws: ``HTTP2SessionError`` when there is no memory.
  init(_ fill: (OpaquePointer) -> Void) throws(HTTP2SessionError) {
    var pointer: OpaquePointer?
    let status = nghttp2_session_callbacks_new(&pointer)
    guard status == 0, let pointer else { throw HTTP2SessionError("start an HTTP/2 session", Int(status)) }
    self.pointer = pointer
    fill(pointer)
  }

  deinit { nghttp2_session_callbacks_del(pointer) }
}
