import CNGHTTP2
import EventLoop

/// What both sides' sessions are: nghttp2 over bytes without a socket, and the only owner of its pointer.
///
/// Callbacks get the session as their context; none of them may close it, as nghttp2 is at work when it calls them.
@LoopActor
class HTTP2Framing {
  /// nghttp2's session; `nil` once it was closed.
  private(set) final var pointer: OpaquePointer?

  /// Which side of the connection this is.
  enum Side { case client, server }

  /// Creates a session and queues its settings.
  ///
  /// - Throws: ``HTTP2SessionError`` when there is no memory.
  init(
    _ side: Side, settings: KeyValuePairs<nghttp2_settings_id, UInt32>, setCallbacks: (OpaquePointer) -> Void
  ) throws(HTTP2SessionError) {
    var callbacks: OpaquePointer?
    var status = nghttp2_session_callbacks_new(&callbacks)
    guard status == 0, let callbacks else { throw HTTP2SessionError("start an HTTP/2 session", Int(status)) }
    // The session copies what it needs.
    defer { nghttp2_session_callbacks_del(callbacks) }
    setCallbacks(callbacks)
    // Retained until `close`: nghttp2 calls back while it is taken down.
    let context = Unmanaged.passRetained(self)
    status =
      switch side {
      case .client: nghttp2_session_client_new(&pointer, callbacks, context.toOpaque())
      case .server: nghttp2_session_server_new(&pointer, callbacks, context.toOpaque())
      }
    guard status == 0 else {
      context.release()
      throw HTTP2SessionError("start an HTTP/2 session", Int(status))
    }
    let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.rawValue), value: $1) }
    nghttp2_submit_settings(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
  }

  /// Whether the peer and this side have nothing left to say to each other, for example after a breach of the protocol.
  final var isFinished: Bool {
    guard let pointer else { return true }
    return nghttp2_session_want_read(pointer) == 0 && nghttp2_session_want_write(pointer) == 0
  }

  /// Whether there is something to send.
  final var hasBytesToSend: Bool { pointer.map { nghttp2_session_want_write($0) != 0 } ?? false }

  /// Takes decrypted bytes of the peer.
  final func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2SessionError) {
    guard let pointer else { return }
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    let status = nghttp2_session_mem_recv(pointer, start, bytes.count)
    guard status >= 0 else { throw HTTP2SessionError("read HTTP/2 frames", status) }
  }

  /// Appends some frames for the peer; false when there are none.
  final func appendBytesToSend(to buffer: inout [UInt8]) throws(HTTP2SessionError) -> Bool {
    guard let pointer else { return false }
    var start: UnsafePointer<UInt8>?
    let count = nghttp2_session_mem_send(pointer, &start)
    guard count >= 0 else { throw HTTP2SessionError("write HTTP/2 frames", count) }
    buffer.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
    return count > 0
  }

  /// Queues the end of a stream.
  final func reset(_ stream: Int32, _ code: nghttp2_error_code) {
    guard let pointer else { return }
    nghttp2_submit_rst_stream(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, UInt32(code.rawValue))
  }

  /// Tells the peer that no more requests follow, or are taken.
  final func terminate() {
    guard let pointer else { return }
    nghttp2_session_terminate_session(pointer, UInt32(NGHTTP2_NO_ERROR.rawValue))
  }

  /// Frees the session; the second time it does nothing.
  func close() {
    guard let pointer else { return }
    self.pointer = nil
    nghttp2_session_del(pointer)
    Unmanaged.passUnretained(self).release()
  }
}

/// A step of the protocol that failed and ends the connection.
struct HTTP2SessionError: Error, CustomStringConvertible {
  /// What was tried.
  let operation: String
  /// nghttp2's text, or our own.
  let cause: String

  init(operation: String, cause: String) { (self.operation, self.cause) = (operation, cause) }

  /// Takes a status of nghttp2's.
  init(_ operation: String, _ status: Int) {
    self.init(operation: operation, cause: String(cString: nghttp2_strerror(Int32(status))))
  }

  var description: String { "could not \(operation): \(cause)" }
}
