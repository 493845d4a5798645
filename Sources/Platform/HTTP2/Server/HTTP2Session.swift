import CNGHTTP2
import EventLoop

/// The HTTP/2 side of one connection: nghttp2 over bytes, without a socket.
@LoopActor
final class HTTP2Session: HTTP2Framing {
  private let maxRequestBytes: Int
  private let onRequest: @LoopActor (_ stream: Int32, HTTP2Request) -> Task<Void, Never>
  private var streams: [Int32: HTTP2Stream] = [:]
  private var fields = HeaderFields()

  /// A response ordered the connection to be reset, once all that precedes the reset was sent.
  private(set) var isResetDue = false

  /// Creates a session and queues its settings.
  ///
  /// - Parameter onRequest: starts the handler of a complete request and returns its task.
  init(
    maxConcurrentStreams: Int, maxRequestBytes: Int,
    onRequest: @escaping @LoopActor (_ stream: Int32, HTTP2Request) -> Task<Void, Never>
  ) throws(HTTP2SessionError) {
    self.maxRequestBytes = maxRequestBytes
    self.onRequest = onRequest
    try super.init(
      .server,
      settings: [
        NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS: UInt32(maxConcurrentStreams),
        NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE: UInt32(maxHeaderBytes),
      ], setCallbacks: setServerCallbacks)
  }

  /// Whether a handler has yet to answer.
  var isWaitingForHandlers: Bool { streams.values.contains { $0.isWaitingForHandler } }

  /// Appends frames for the peer until there are no more or `buffer` holds `limit` bytes.
  func takeBytesToSend(into buffer: inout [UInt8], limit: Int) throws(HTTP2SessionError) {
    while buffer.count < limit, !isResetDue, try appendBytesToSend(to: &buffer) {}
  }

  /// Queues an answer; one for a stream that has ended is dropped.
  func respond(_ response: HTTP2Response, on stream: Int32) {
    guard let pointer, streams[stream]?.start(response) == true else { return }
    switch response.fault {
    case .resetConnection(afterBodyBytes: nil): isResetDue = true
    case .resetStream(afterBodyBytes: nil): reset(stream, NGHTTP2_INTERNAL_ERROR)
    default: submit(response, on: stream, to: pointer)
    }
  }

  private func submit(_ response: HTTP2Response, on stream: Int32, to pointer: OpaquePointer) {
    let hasBody = streams[stream]?.request.method != "HEAD" && (!response.body.isEmpty || response.fault != nil)
    var provider = nghttp2_data_provider()
    provider.read_callback = onReadBody
    response.addHeaderFields(to: &fields)
    let status = fields.take { fields, count in
      hasBody
        ? nghttp2_submit_response(pointer, stream, fields, count, &provider)
        : nghttp2_submit_response(pointer, stream, fields, count, nil)
    }
    // The only failures are a lack of memory and a stream that is gone already, which needs no answer.
    if status != 0 { streams[stream] = nil }
  }

  /// Ends every stream, cancels the handlers and frees the session; never call it from a callback.
  override func close() {
    for stream in streams.values { stream.handler?.cancel() }
    streams = [:]
    super.close()
  }
}

extension HTTP2Session {
  // What nghttp2 tells.

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
