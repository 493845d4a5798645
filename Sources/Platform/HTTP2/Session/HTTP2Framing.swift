import CNGHTTP2
package import EventLoop

/// HTTP/2 over bytes, without a socket, for both sides of a connection. Only this type calls nghttp2.
@LoopActor
package final class HTTP2Framing {
  /// nghttp2's session; `nil` after ``close()``.
  private var pointer: OpaquePointer?
  /// The receiver of everything that the peer sends. Set it before the first byte comes. ``close()`` releases it.
  package var owner: (any HTTP2FramingOwner)?

  /// Which side of the connection this is.
  package enum Side: Sendable { case client, server }

  /// Creates a session and queues its settings.
  ///
  /// - Throws: ``HTTP2SessionError`` when there is no memory.
  package init(_ side: Side, _ settings: KeyValuePairs<HTTP2Setting, UInt32>) throws(HTTP2SessionError) {
    var callbacks: OpaquePointer?
    var status = nghttp2_session_callbacks_new(&callbacks)
    guard status == 0, let callbacks else { throw HTTP2SessionError("start an HTTP/2 session", Int(status)) }
    // The session has its own copy.
    defer { nghttp2_session_callbacks_del(callbacks) }
    // This object is retained until `close`, since nghttp2 calls back while it shuts down.
    let context = Unmanaged.passRetained(self)
    switch side {
    case .client:
      setClientCallbacks(callbacks)
      status = nghttp2_session_client_new(&pointer, callbacks, context.toOpaque())
    case .server:
      setServerCallbacks(callbacks)
      status = nghttp2_session_server_new(&pointer, callbacks, context.toOpaque())
    }
    guard status == 0 else {
      context.release()
      throw HTTP2SessionError("start an HTTP/2 session", Int(status))
    }
    let entries = settings.map { nghttp2_settings_entry(settings_id: $0.rawValue, value: $1) }
    nghttp2_submit_settings(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count)
  }

  /// Sets how many bytes the peer may send on all streams together before an acknowledgement.
  func setConnectionWindow(_ bytes: Int32) {
    nghttp2_session_set_local_window_size(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, bytes)
  }

  /// Whether the peer and this side have nothing left to say to each other, for example after a breach of the protocol.
  package var isFinished: Bool {
    guard let pointer else { return true }
    return nghttp2_session_want_read(pointer) == 0 && nghttp2_session_want_write(pointer) == 0
  }

  /// Whether the session has something to send.
  var hasBytesToSend: Bool { pointer.map { nghttp2_session_want_write($0) != 0 } ?? false }

  /// How many requests the server takes at a time; 0 after it has said goodbye.
  var requestLimit: Int {
    guard let pointer, nghttp2_session_check_request_allowed(pointer) != 0 else { return 0 }
    return Int(nghttp2_session_get_remote_settings(pointer, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  // MARK: Bytes

  /// Takes decrypted bytes of the peer.
  package func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2SessionError) {
    guard let pointer else { return }
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    let status = nghttp2_session_mem_recv(pointer, start, bytes.count)
    guard status >= 0 else { throw HTTP2SessionError("read HTTP/2 frames", status) }
  }

  /// Appends some frames for the peer. Returns false when there are none.
  package func appendBytesToSend(to buffer: inout [UInt8]) throws(HTTP2SessionError) -> Bool {
    guard let pointer else { return false }
    var start: UnsafePointer<UInt8>?
    let count = nghttp2_session_mem_send(pointer, &start)
    guard count >= 0 else { throw HTTP2SessionError("write HTTP/2 frames", count) }
    buffer.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
    return count > 0
  }

  // MARK: Messages

  /// Queues a request and forgets its header fields. Returns its stream, or `nil` when the session takes no more.
  ///
  /// - Parameter hasBody: whether the session asks the owner for a body.
  func submitRequest(_ fields: inout HeaderFields, hasBody: Bool) -> Int32? {
    guard let pointer else { return nil }
    var provider = nghttp2_data_provider()
    provider.read_callback = onReadBody
    let stream = fields.take { fields, count in
      hasBody
        ? nghttp2_submit_request(pointer, nil, fields, count, &provider, nil)
        : nghttp2_submit_request(pointer, nil, fields, count, nil, nil)
    }
    return stream > 0 ? stream : nil
  }

  /// Queues an answer and forgets its header fields. Returns false without memory, or if the stream has ended.
  ///
  /// - Parameter hasBody: whether the session asks the owner for a body.
  package func submitAnswer(_ fields: inout HeaderFields, hasBody: Bool, on stream: Int32) -> Bool {
    guard let pointer else { return false }
    var provider = nghttp2_data_provider()
    provider.read_callback = onReadBody
    let status = fields.take { fields, count in
      hasBody
        ? nghttp2_submit_response(pointer, stream, fields, count, &provider)
        : nghttp2_submit_response(pointer, stream, fields, count, nil)
    }
    return status == 0
  }

  /// Queues the end of a stream.
  package func reset(_ stream: Int32, _ code: HTTP2ErrorCode) {
    guard let pointer else { return }
    nghttp2_submit_rst_stream(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, code.rawValue)
  }

  // MARK: Ending

  /// Tells the peer that this side sends no more requests, or takes no more.
  package func terminate() {
    guard let pointer else { return }
    nghttp2_session_terminate_session(pointer, UInt32(NGHTTP2_NO_ERROR.rawValue))
  }

  /// Frees the session and releases the owner. A second call does nothing.
  package func close() {
    guard let pointer else { return }
    self.pointer = nil
    nghttp2_session_del(pointer)
    owner = nil
    Unmanaged.passUnretained(self).release()
  }
}
