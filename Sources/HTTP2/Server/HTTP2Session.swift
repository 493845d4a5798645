import CNGHTTP2
import EventLoop

/// The HTTP/2 side of one connection: nghttp2 over bytes, without a socket.
@LoopActor
final class HTTP2Session {
  private var pointer: OpaquePointer?
  private let maxRequestBytes: Int
  private let onRequest: @LoopActor (_ stream: Int32, HTTP2Request) -> Task<Void, Never>
  private var streams: [Int32: HTTP2Stream] = [:]

  /// A response ordered the connection to be reset, once all that precedes the reset was sent.
  private(set) var isResetDue = false

  /// Creates a session and queues its settings.
  ///
  /// - Parameter onRequest: starts the handler of a complete request and returns its task.
  init(
    maxConcurrentStreams: Int, maxRequestBytes: Int,
    onRequest: @escaping @LoopActor (_ stream: Int32, HTTP2Request) -> Task<Void, Never>
  ) throws {
    self.maxRequestBytes = maxRequestBytes
    self.onRequest = onRequest
    let callbacks = try makeSessionCallbacks()
    defer { nghttp2_session_callbacks_del(callbacks) }
    // Retained until `close`: nghttp2 calls back while it is taken down.
    let context = Unmanaged.passRetained(self)
    let status = nghttp2_session_server_new(&pointer, callbacks, context.toOpaque())
    guard status == 0 else {
      context.release()
      throw HTTP2ServerError.protocolFailure("start an HTTP/2 session", Int(status))
    }
    let settings = [
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: UInt32(maxConcurrentStreams)),
      nghttp2_settings_entry(
        settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue), value: UInt32(maxHeaderBytes)),
    ]
    nghttp2_submit_settings(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count)
  }

  /// Whether a handler has yet to answer.
  var isWaitingForHandlers: Bool { streams.values.contains { $0.isWaitingForHandler } }

  /// Whether the peer and this side have nothing left to say to each other.
  var isFinished: Bool {
    guard let pointer else { return true }
    return nghttp2_session_want_read(pointer) == 0 && nghttp2_session_want_write(pointer) == 0
  }

  /// Takes decrypted bytes of the peer.
  func receive(_ bytes: UnsafeRawBufferPointer) throws {
    guard let pointer else { return }
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    let status = nghttp2_session_mem_recv(pointer, start, bytes.count)
    guard status >= 0 else { throw HTTP2ServerError.protocolFailure("read HTTP/2 frames", status) }
  }

  /// Appends frames for the peer until there are no more or `buffer` holds `limit` bytes.
  func takeBytesToSend(into buffer: inout [UInt8], limit: Int) throws {
    guard let pointer else { return }
    while buffer.count < limit, !isResetDue {
      var start: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(pointer, &start)
      guard count >= 0 else { throw HTTP2ServerError.protocolFailure("write HTTP/2 frames", count) }
      guard count > 0 else { return }
      buffer.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
    }
  }

  /// Queues an answer; one for a stream that has ended is dropped.
  func respond(_ response: HTTP2Response, on stream: Int32) {
    guard let pointer, streams[stream]?.start(response) == true else { return }
    switch response.fault {
    case .resetConnection(afterBodyBytes: nil): isResetDue = true
    case .resetStream(afterBodyBytes: nil):
      nghttp2_submit_rst_stream(
        pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, UInt32(NGHTTP2_INTERNAL_ERROR.rawValue))
    default: submit(response, on: stream, to: pointer)
    }
  }

  private func submit(_ response: HTTP2Response, on stream: Int32, to pointer: OpaquePointer) {
    let hasBody = streams[stream]?.request.method != "HEAD" && (!response.body.isEmpty || response.fault != nil)
    var provider = nghttp2_data_provider()
    provider.read_callback = onReadBody
    let status = withHeaderFields(response.fields) { fields, count in
      hasBody
        ? nghttp2_submit_response(pointer, stream, fields, count, &provider)
        : nghttp2_submit_response(pointer, stream, fields, count, nil)
    }
    // The only failures are a lack of memory and a stream that is gone already, which needs no answer.
    if status != 0 { streams[stream] = nil }
  }

  /// Tells the peer that no more requests are taken.
  func terminate() {
    guard let pointer else { return }
    nghttp2_session_terminate_session(pointer, UInt32(NGHTTP2_NO_ERROR.rawValue))
  }

  /// Ends every stream, cancels the handlers and frees the session; never call it from a callback.
  func close() {
    guard let pointer else { return }
    self.pointer = nil
    for stream in streams.values { stream.handler?.cancel() }
    streams = [:]
    nghttp2_session_del(pointer)
    Unmanaged.passUnretained(self).release()
  }
}

extension HTTP2Session {
  // What nghttp2 tells. None of these may close the session, which is at work when it calls them.

  func begin(_ stream: Int32) {
    streams[stream] = HTTP2Stream()
  }

  func receiveHeader(_ name: String, _ value: String, on stream: Int32) {
    streams[stream]?.append(name, value)
  }

  func receiveBody(_ bytes: UnsafeBufferPointer<UInt8>, on stream: Int32) {
    streams[stream]?.append(bytes, limit: maxRequestBytes)
  }

  func endRequest(on stream: Int32) {
    guard let state = streams[stream], state.handler == nil else { return }
    guard !state.isTooLarge else { return respond(HTTP2Response(status: 413), on: stream) }
    streams[stream]?.handler = onRequest(stream, state.request)
  }

  func end(_ stream: Int32) {
    streams.removeValue(forKey: stream)?.handler?.cancel()
  }

  func readBody(
    on stream: Int32, into buffer: UnsafeMutableBufferPointer<UInt8>, flags: UnsafeMutablePointer<UInt32>
  ) -> Int {
    switch streams[stream]?.copyBody(into: buffer) {
    case .bytes(let count, let isLast):
      if isLast { flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
      return count
    case .fault(.resetConnection):
      isResetDue = true
      return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    // nghttp2 answers this failure with RST_STREAM and INTERNAL_ERROR.
    case .fault(.resetStream), nil: return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
  }
}

/// More than any honest request has; nghttp2 enforces 64 KiB on its own.
private let maxHeaderBytes = 16_384
