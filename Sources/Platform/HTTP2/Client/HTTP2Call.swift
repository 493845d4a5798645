import EventLoop
import HTTP

/// One request on its way, and what has come of its answer.
@LoopActor
final class HTTP2Call {
  /// What became of a request.
  enum Outcome: Sendable {
    case answered(HTTPClientResponse)
    case failed(HTTPClientError)
    /// The server did not agree to HTTP/2, so that the request is one for the client that speaks both.
    case needsHTTP1
  }

  let request: HTTPClientRequest
  let url: HTTP2URL
  let deadline: ContinuousClock.Instant
  /// The connection that it was sent on, and how much that had received by then.
  private(set) var connection: HTTP2ClientConnection?
  private(set) var receivedBefore = 0
  /// Whether it was sent a second time; there is no third.
  private var isResent = false
  /// How much of the request's body has been sent.
  private var sent = 0

  private var status = 0
  private var headers: [(name: String, value: String)] = []
  private var headerBytes = 0
  private var body: [UInt8] = []
  private var isHeadComplete = false
  private(set) var isComplete = false
  private var waiter: CheckedContinuation<Outcome, Never>?

  init(_ request: HTTPClientRequest, _ url: HTTP2URL) {
    self.request = request
    self.url = url
    deadline = .now + request.timeout
  }

  /// Takes in who is to have the answer.
  func wait(_ waiter: CheckedContinuation<Outcome, Never>) { self.waiter = waiter }

  /// Whether whoever asked has had an answer or a failure.
  var hasEnded: Bool { waiter == nil }

  /// Whether it may be sent again though a server may have acted on it (RFC 9110, section 9.2.2).
  var isIdempotent: Bool { request.method != "POST" && request.method != "PATCH" }

  // MARK: Sending

  /// Notes that it is being sent, from its beginning.
  func begin(on connection: HTTP2ClientConnection, received: Int) {
    self.connection = connection
    receivedBefore = received
    sent = 0
  }

  /// Takes it back to be sent again; false when it was before, or when an answer has begun.
  func takeBackOnce() -> Bool {
    connection = nil
    defer { isResent = true }
    return !isResent && status == 0
  }

  /// Adds what stands before the request's body.
  func addHeaderFields(to fields: inout HeaderFields, userAgent: String) {
    fields.add(":method", request.method)
    fields.add(":scheme", "https")
    fields.add(":authority", url.authority)
    fields.add(":path", url.path)
    fields.add("user-agent", userAgent)
    for (name, value) in request.headers { fields.add(name, value) }
    if let body = request.body { fields.add("content-length", String(body.count)) }
  }

  /// Copies the next part of the request's body and returns how much, and whether that was the last.
  func copyBody(into buffer: UnsafeMutableBufferPointer<UInt8>) -> (count: Int, isLast: Bool) {
    guard let body = request.body else { return (0, true) }
    let count = min(buffer.count, body.count - sent)
    if count > 0 {
      body.withUnsafeBufferPointer { buffer.baseAddress!.update(from: $0.baseAddress! + sent, count: count) }
    }
    sent += count
    return (count, sent == body.count)
  }

  // MARK: Receiving

  /// More header fields than any server has to say; each is kept, so a hostile one could fill the memory.
  private static let maxHeaderBytes = 32 << 10
  /// Memory for so many is taken at once.
  private static let usualHeaders = 12

  /// Takes a header field; false when there are too many.
  func receiveHeader(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
    // Trailers mean nothing to anybody.
    guard !isHeadComplete else { return true }
    let text = String(decoding: value, as: UTF8.self)
    if name.elementsEqual(":status".utf8) {
      // An interim answer may have come before.
      headers.removeAll()
      headers.reserveCapacity(Self.usualHeaders)
      status = Int(text) ?? 0
      return true
    }
    // Each costs memory of its own, however short it is.
    headerBytes += name.count + value.count + 64
    guard headerBytes <= Self.maxHeaderBytes else { return false }
    headers.append((String(decoding: name, as: UTF8.self), text))
    return true
  }

  /// Notes the end of a block of header fields.
  func endHeaders() { isHeadComplete = status >= 200 }

  /// Takes a piece of the body; false when the answer is too long.
  func receiveBody(_ piece: UnsafeBufferPointer<UInt8>) -> Bool {
    guard body.count + piece.count <= request.maxResponseBytes else { return false }
    if body.isEmpty {
      let length = headers.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0
      body.reserveCapacity(min(max(length, piece.count), request.maxResponseBytes))
    }
    body.append(contentsOf: piece)
    return true
  }

  /// Notes that the server has said everything.
  func endAnswer() { isComplete = isHeadComplete }

  // MARK: Ending

  func succeed() {
    let response = HTTPClientResponse(status: status, headers: headers, body: body)
    end()?.resume(returning: .answered(response))
  }

  func fail(_ code: HTTPClientError.Code, _ cause: String) {
    let error = HTTPClientError(code: code, target: "\(request.method) \(url.authority)", cause: cause)
    end()?.resume(returning: .failed(error))
  }

  /// Fails because the answer is longer than allowed.
  func failAsTooLarge() {
    fail(
      .responseTooLarge,
      headerBytes > Self.maxHeaderBytes
        ? "the answer's header fields are longer than \(Self.maxHeaderBytes) bytes"
        : "the answer is longer than \(request.maxResponseBytes) bytes")
  }

  /// Fails because the server speaks no HTTP/2.
  func failForHTTP1() { end()?.resume(returning: .needsHTTP1) }

  private func end() -> CheckedContinuation<Outcome, Never>? {
    (connection, headers, body) = (nil, [], [])
    defer { waiter = nil }
    return waiter
  }
}
