import EventLoop
import HTTP

/// One request on its way, and its answer so far.
@LoopActor
final class HTTP2Call {
  /// How a request ends.
  enum Ending: Sendable {
    case answered(HTTPClientResponse)
    case failed(HTTPClientError)
    /// The server did not agree to HTTP/2, so the client that speaks both must send the request.
    case needsHTTP1
  }

  let request: HTTPClientRequest
  let url: HTTP2URL
  let deadline: ContinuousClock.Instant
  /// The connection that carries the request. ``receivedBefore`` is the number of bytes that it had received by then.
  private(set) var connection: HTTP2ClientConnection?
  private(set) var receivedBefore = 0
  /// Whether the client has sent it a second time. There is no third time.
  private var isResent = false
  /// The number of bytes of the request's body that have been sent.
  private var sent = 0

  private var status = 0
  private var headers: [(name: String, value: String)] = []
  private var headerBytes = 0
  private var body: [UInt8] = []
  private var isHeadComplete = false
  private(set) var isComplete = false
  private var waiter: CheckedContinuation<Ending, Never>?

  init(_ request: HTTPClientRequest, _ url: HTTP2URL) {
    self.request = request
    self.url = url
    deadline = .now + request.timeout
  }

  /// Takes in the caller that waits for the answer.
  func wait(_ waiter: CheckedContinuation<Ending, Never>) { self.waiter = waiter }

  /// Whether the caller has received an answer or a failure.
  var hasEnded: Bool { waiter == nil }

  /// Whether the client may send it again although a server may have acted on it (RFC 9110, section 9.2.2).
  var isIdempotent: Bool { request.method != "POST" && request.method != "PATCH" }

  // MARK: Sending

  /// Notes that a connection sends it, from its beginning.
  func begin(on connection: HTTP2ClientConnection, received: Int) {
    self.connection = connection
    receivedBefore = received
    sent = 0
  }

  /// Takes it back for a second sending. Returns false if it was taken back before, or if an answer has begun.
  func takeBackOnce() -> Bool {
    connection = nil
    defer { isResent = true }
    return !isResent && status == 0
  }

  /// Adds the header fields of the request.
  func addHeaderFields(to fields: inout HeaderFields, userAgent: String) {
    fields.add(":method", request.method)
    fields.add(":scheme", "https")
    fields.add(":authority", url.authority)
    fields.add(":path", url.path)
    fields.add("user-agent", userAgent)
    for (name, value) in request.headers { fields.add(name, value) }
    if let body = request.body { fields.add("content-length", String(body.count)) }
  }

  /// Copies the next part of the request's body. Returns its length, and whether it was the last part.
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

  /// The limit is above the header fields of any real server. The call keeps each field, so a hostile server could fill
  /// the memory.
  private static let maxHeaderBytes = 32 << 10
  /// The call reserves memory for this number of fields at once.
  private static let usualHeaders = 12

  /// Takes a header field. Returns false when there are too many.
  func receiveHeader(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
    // No caller needs trailers.
    guard !isHeadComplete else { return true }
    let text = String(decoding: value, as: UTF8.self)
    if name.elementsEqual(":status".utf8) {
      // An interim answer may have come before.
      headers.removeAll()
      headers.reserveCapacity(Self.usualHeaders)
      status = Int(text) ?? 0
      return true
    }
    // Each field costs memory of its own, even if it is short.
    headerBytes += name.count + value.count + 64
    guard headerBytes <= Self.maxHeaderBytes else { return false }
    headers.append((String(decoding: name, as: UTF8.self), text))
    return true
  }

  /// Notes the end of a block of header fields.
  func endHeaders() { isHeadComplete = status >= 200 }

  /// Takes a piece of the body. Returns false when the answer is too long.
  func receiveBody(_ piece: UnsafeBufferPointer<UInt8>) -> Bool {
    guard body.count + piece.count <= request.maxResponseBytes else { return false }
    if body.isEmpty {
      let length = headers.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0
      body.reserveCapacity(min(max(length, piece.count), request.maxResponseBytes))
    }
    body.append(contentsOf: piece)
    return true
  }

  /// Notes that the server has sent everything.
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

  /// Fails because the answer is longer than the request allows.
  func failAsTooLarge() {
    fail(
      .responseTooLarge,
      headerBytes > Self.maxHeaderBytes
        ? "the answer's header fields are longer than \(Self.maxHeaderBytes) bytes"
        : "the answer is longer than \(request.maxResponseBytes) bytes")
  }

  /// Fails because the server speaks no HTTP/2.
  func failForHTTP1() { end()?.resume(returning: .needsHTTP1) }

  private func end() -> CheckedContinuation<Ending, Never>? {
    (connection, headers, body) = (nil, [], [])
    defer { waiter = nil }
    return waiter
  }
}
