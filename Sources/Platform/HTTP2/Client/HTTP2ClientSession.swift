import EventLoop
import HTTP

/// The requests on one connection to a server.
@LoopActor
final class HTTP2ClientSession {
  /// How a stream ended.
  enum Ending: Equatable {
    /// The answer is complete.
    case answered
    /// The server did not process the request (RFC 9113, section 8.7).
    case refused
    /// The answer is longer than the request allows.
    case tooLarge
    /// The server wants HTTP/1.1 for this request (RFC 9113, section 7).
    case needsHTTP1
    /// The stream broke off, with an error code of RFC 9113, section 7.
    case reset(UInt32)
  }

  private let framing: HTTP2Framing
  private var calls: [Int32: HTTP2Call] = [:]
  private var fields = HeaderFields()
  private var ended: [(call: HTTP2Call, ending: Ending)] = []

  /// Creates a session and queues its settings.
  ///
  /// - Throws: ``HTTP2SessionError`` when there is no memory.
  init() throws(HTTP2SessionError) {
    framing = try HTTP2Framing(.client, [.enablePush: 0, .initialWindowSize: streamWindow])
    framing.owner = self
    // With the protocol's 64 KiB, a dozen answers at a time would wait for a round trip.
    framing.setConnectionWindow(connectionWindow)
  }

  /// How many requests are on the way.
  var inFlight: Int { calls.count }

  /// How many requests the server takes at a time; 0 after it has said goodbye.
  var limit: Int { framing.requestLimit }

  /// How many more requests the server takes now.
  var room: Int { max(0, limit - calls.count) }

  /// Queues a request. Returns false when the session takes no more.
  func submit(_ call: HTTP2Call, userAgent: String) -> Bool {
    guard room > 0 else { return false }
    call.addHeaderFields(to: &fields, userAgent: userAgent)
    guard let stream = framing.submitRequest(&fields, hasBody: call.request.body != nil) else { return false }
    calls[stream] = call
    return true
  }

  /// Takes a request back, and tells the server if the server has it already.
  func cancel(_ call: HTTP2Call) {
    guard let stream = calls.first(where: { $0.value === call })?.key else { return }
    calls[stream] = nil
    framing.reset(stream, .cancel)
  }

  /// Returns the requests that have ended since the last time.
  func takeEnded() -> [(call: HTTP2Call, ending: Ending)] {
    defer { ended.removeAll() }
    return ended
  }

  /// Appends frames for the server until there are no more or `buffer` holds `limit` bytes.
  func takeBytesToSend(into buffer: inout [UInt8], limit: Int) throws(HTTP2SessionError) {
    while buffer.count < limit, try framing.appendBytesToSend(to: &buffer) {}
  }

  /// Whether the server and this side have nothing left to say to each other.
  var isFinished: Bool { framing.isFinished }

  /// Whether the session has something to send.
  var hasBytesToSend: Bool { framing.hasBytesToSend }

  /// Takes decrypted bytes of the server.
  func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2SessionError) { try framing.receive(bytes) }

  /// Tells the server that no more requests follow.
  func terminate() { framing.terminate() }

  /// Frees the session and returns the requests that were on the way. Never call it from a callback.
  func abandon() -> [HTTP2Call] {
    framing.close()
    defer { calls = [:] }
    return Array(calls.values)
  }
}

extension HTTP2ClientSession: HTTP2FramingOwner {
  func receiveHeader(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, on stream: Int32) {
    guard let call = calls[stream] else { return }
    if !call.receiveHeader(name, value) { breakOff(call, stream) }
  }

  func receiveBody(_ bytes: UnsafeBufferPointer<UInt8>, on stream: Int32) {
    guard let call = calls[stream] else { return }
    if !call.receiveBody(bytes) { breakOff(call, stream) }
  }

  func endHeaders(on stream: Int32) { calls[stream]?.endHeaders() }

  func endMessage(on stream: Int32) { calls[stream]?.endAnswer() }

  func end(_ stream: Int32, _ code: HTTP2ErrorCode) {
    guard let call = calls.removeValue(forKey: stream) else { return }
    let ending: Ending =
      if call.isComplete {
        .answered
      } else if code == .refusedStream {
        .refused
      } else if code == .http11Required {
        .needsHTTP1
      } else {
        .reset(code.rawValue)
      }
    ended.append((call, ending))
  }

  func refuse(_ stream: Int32) {
    if let call = calls.removeValue(forKey: stream) { ended.append((call, .refused)) }
  }

  func copyBody(on stream: Int32, into buffer: UnsafeMutableBufferPointer<UInt8>) -> HTTP2BodyPart {
    guard let call = calls[stream] else { return .failure }
    let (count, isLast) = call.copyBody(into: buffer)
    return .bytes(count, isLast: isLast)
  }

  private func breakOff(_ call: HTTP2Call, _ stream: Int32) {
    calls[stream] = nil
    ended.append((call, .tooLarge))
    framing.reset(stream, .cancel)
  }
}

/// How many bytes of one answer may come before an acknowledgement. It is as much as a whole answer, so that no answer
/// waits.
private let streamWindow: UInt32 = 1 << 20
/// The same limit for all answers of a connection together.
private let connectionWindow: Int32 = 16 << 20
