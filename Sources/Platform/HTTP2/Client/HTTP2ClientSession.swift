import CNGHTTP2
import EventLoop
import HTTP

/// The HTTP/2 side of one connection to a server: nghttp2 over bytes, without a socket.
@LoopActor
final class HTTP2ClientSession: HTTP2Framing {
  /// How a stream ended.
  enum Ending: Equatable {
    /// The answer is complete.
    case answered
    /// The server did not process the request (RFC 9113, section 8.7).
    case refused
    /// The answer is longer than the request allows.
    case tooLarge
    /// The server wants HTTP/1.1 for this (RFC 9113, section 7).
    case needsHTTP1
    /// The stream broke off, with an error code of RFC 9113, section 7.
    case reset(UInt32)
  }

  private var calls: [Int32: HTTP2Call] = [:]
  private var fields = HeaderFields()
  private var ended: [(call: HTTP2Call, ending: Ending)] = []

  /// Creates a session and queues its settings.
  ///
  /// - Throws: ``HTTP2SessionError`` when there is no memory.
  init() throws(HTTP2SessionError) {
    try super.init(
      .client, settings: [NGHTTP2_SETTINGS_ENABLE_PUSH: 0, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE: streamWindow],
      setCallbacks: setClientCallbacks)
    // With the 64 KiB of the protocol a dozen answers at a time would wait for a round trip.
    nghttp2_session_set_local_window_size(pointer, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, connectionWindow)
  }

  /// How many requests are on the way.
  var inFlight: Int { calls.count }

  /// How many requests the server takes at a time; none once it has said goodbye.
  var limit: Int {
    guard let pointer, nghttp2_session_check_request_allowed(pointer) != 0 else { return 0 }
    return Int(nghttp2_session_get_remote_settings(pointer, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  /// How many more it takes now.
  var room: Int { max(0, limit - calls.count) }

  /// Queues a request; false when the session takes no more.
  func submit(_ call: HTTP2Call, userAgent: String) -> Bool {
    guard let pointer, room > 0 else { return false }
    call.addHeaderFields(to: &fields, userAgent: userAgent)
    var provider = nghttp2_data_provider()
    provider.read_callback = onReadRequestBody
    let hasBody = call.request.body != nil
    let stream = fields.take { fields, count in
      hasBody
        ? nghttp2_submit_request(pointer, nil, fields, count, &provider, nil)
        : nghttp2_submit_request(pointer, nil, fields, count, nil, nil)
    }
    guard stream > 0 else { return false }
    calls[stream] = call
    return true
  }

  /// Takes a request back, and tells the server if it has it already.
  func cancel(_ call: HTTP2Call) {
    guard let stream = calls.first(where: { $0.value === call })?.key else { return }
    calls[stream] = nil
    reset(stream, NGHTTP2_CANCEL)
  }

  /// Returns the requests that have ended since the last time.
  func takeEnded() -> [(call: HTTP2Call, ending: Ending)] {
    defer { ended.removeAll() }
    return ended
  }

  /// Appends frames for the server until there are no more or `buffer` holds `limit` bytes.
  func takeBytesToSend(into buffer: inout [UInt8], limit: Int) throws(HTTP2SessionError) {
    while buffer.count < limit, try appendBytesToSend(to: &buffer) {}
  }

  /// Frees the session and returns the requests that were on the way; never call it from a callback.
  func abandon() -> [HTTP2Call] {
    close()
    defer { calls = [:] }
    return Array(calls.values)
  }
}

extension HTTP2ClientSession {
  // What nghttp2 tells.

  func receiveHeader(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, on stream: Int32) {
    guard let call = calls[stream] else { return }
    if !call.receiveHeader(name, value) { breakOff(call, stream) }
  }

  func receiveBody(_ bytes: UnsafeBufferPointer<UInt8>, on stream: Int32) {
    guard let call = calls[stream] else { return }
    if !call.receiveBody(bytes) { breakOff(call, stream) }
  }

  func endHeaders(on stream: Int32) { calls[stream]?.endHeaders() }

  func endAnswer(on stream: Int32) { calls[stream]?.endAnswer() }

  func end(_ stream: Int32, _ code: UInt32) {
    guard let call = calls.removeValue(forKey: stream) else { return }
    let ending: Ending =
      if call.isComplete {
        .answered
      } else if code == NGHTTP2_REFUSED_STREAM.rawValue {
        .refused
      } else if code == NGHTTP2_HTTP_1_1_REQUIRED.rawValue {
        .needsHTTP1
      } else {
        .reset(code)
      }
    ended.append((call, ending))
  }

  /// A request was not sent because the server had said goodbye.
  func refuse(_ stream: Int32) {
    if let call = calls.removeValue(forKey: stream) { ended.append((call, .refused)) }
  }

  func copyBody(
    on stream: Int32, into buffer: UnsafeMutableBufferPointer<UInt8>, flags: UnsafeMutablePointer<UInt32>
  ) -> Int {
    guard let call = calls[stream] else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
    let (count, isLast) = call.copyBody(into: buffer)
    if isLast { flags.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
    return count
  }

  private func breakOff(_ call: HTTP2Call, _ stream: Int32) {
    calls[stream] = nil
    ended.append((call, .tooLarge))
    reset(stream, NGHTTP2_CANCEL)
  }
}

/// What one answer may take before it is acknowledged; as much as a whole one, so that none waits.
private let streamWindow: UInt32 = 1 << 20
/// The same for all answers of a connection together.
private let connectionWindow: Int32 = 16 << 20
