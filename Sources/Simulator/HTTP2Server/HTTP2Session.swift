import EventLoop
import HTTP2

/// The requests on one accepted connection.
@LoopActor
final class HTTP2Session {
  private let framing: HTTP2Framing
  private let maxRequestBytes: Int
  private let onRequest: @LoopActor (_ stream: Int32, HTTP2Request) -> Task<Void, Never>
  private var streams: [Int32: HTTP2Stream] = [:]
  private var fields = HeaderFields()

  /// Whether a response orders a reset of the connection. The reset comes after everything that precedes it.
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
    framing = try HTTP2Framing(
      .server, [.maxConcurrentStreams: UInt32(maxConcurrentStreams), .maxHeaderListSize: maxHeaderBytes])
    framing.owner = self
  }

  /// Whether neither side has anything left to send.
  var isFinished: Bool { framing.isFinished }

  /// Takes decrypted bytes of the client.
  func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2SessionError) { try framing.receive(bytes) }

  /// Tells the client that the server takes no more requests.
  func terminate() { framing.terminate() }

  /// Whether a handler has not answered yet.
  var isWaitingForHandlers: Bool { streams.values.contains { $0.isWaitingForHandler } }

  /// Appends frames for the peer until there are no more or `buffer` holds `limit` bytes.
  func takeBytesToSend(into buffer: inout [UInt8], limit: Int) throws(HTTP2SessionError) {
    while buffer.count < limit, !isResetDue, try framing.appendBytesToSend(to: &buffer) {}
  }

  /// Queues an answer; drops it if its stream has ended.
  func respond(_ response: HTTP2Response, on stream: Int32) {
    guard streams[stream]?.start(response) == true else { return }
    switch response.fault {
    case .resetConnection(afterBodyBytes: nil): isResetDue = true
    case .resetStream(afterBodyBytes: nil): framing.reset(stream, .internalError)
    default: submit(response, on: stream)
    }
  }

  private func submit(_ response: HTTP2Response, on stream: Int32) {
    let hasBody = streams[stream]?.request.method != "HEAD" && (!response.body.isEmpty || response.fault != nil)
    response.addHeaderFields(to: &fields)
    // It fails only without memory, or for a stream that is already gone and needs no answer.
    if !framing.submitAnswer(&fields, hasBody: hasBody, on: stream) { streams[stream] = nil }
  }

  /// Ends every stream, cancels the handlers and frees the session; never call it from a callback.
  func close() {
    for stream in streams.values { stream.handler?.cancel() }
    streams = [:]
    framing.close()
  }
}

extension HTTP2Session: HTTP2FramingOwner {
  func begin(_ stream: Int32) {
    streams[stream] = HTTP2Stream()
  }

  func receiveHeader(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, on stream: Int32) {
    streams[stream]?.append(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
  }

  func receiveBody(_ bytes: UnsafeBufferPointer<UInt8>, on stream: Int32) {
    streams[stream]?.append(bytes, limit: maxRequestBytes)
  }

  func endMessage(on stream: Int32) {
    guard let state = streams[stream], state.handler == nil else { return }
    guard !state.isTooLarge else { return respond(HTTP2Response(status: 413), on: stream) }
    streams[stream]?.handler = onRequest(stream, state.request)
  }

  func end(_ stream: Int32, _: HTTP2ErrorCode) {
    streams.removeValue(forKey: stream)?.handler?.cancel()
  }

  func copyBody(on stream: Int32, into buffer: UnsafeMutableBufferPointer<UInt8>) -> HTTP2BodyPart {
    switch streams[stream]?.copyBody(into: buffer) {
    case .bytes(let count, let isLast): return .bytes(count, isLast: isLast)
    case .fault(.resetConnection):
      isResetDue = true
      return .pause
    case .fault(.resetStream), nil: return .failure
    }
  }
}

/// More than any honest request has; nghttp2 enforces 64 KiB on its own.
private let maxHeaderBytes: UInt32 = 16_384
