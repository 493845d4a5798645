/// One request and its answer on the way.
struct HTTP2Stream {
  var request = HTTP2Request(method: "", path: "")
  /// The body is longer than allowed: the server does not keep it, and answers 413.
  var isTooLarge = false
  /// The handler at work; cancelled when the stream ends first.
  var handler: Task<Void, Never>?

  private(set) var response: HTTP2Response?
  private var sent = 0

  /// Whether the request is complete and has no answer yet.
  var isWaitingForHandler: Bool { handler != nil && response == nil }

  mutating func append(_ name: String, _ value: String) {
    switch name {
    case ":method": request.method = value
    case ":path": request.path = value
    case ":authority": request.authority = value
    case ":scheme": break
    default: request.headers.append((name, value))
    }
  }

  mutating func append(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) {
    guard !isTooLarge, request.body.count + bytes.count <= limit else {
      isTooLarge = true
      request.body = []
      return
    }
    request.body.append(contentsOf: bytes)
  }

  /// Starts the answer, unless the stream already has one.
  mutating func start(_ response: HTTP2Response) -> Bool {
    guard self.response == nil else { return false }
    self.response = response
    return true
  }

  /// What the library must do after it has asked for a part of the body.
  enum BodyPart: Equatable {
    case bytes(Int, isLast: Bool)
    case fault(HTTP2Response.Fault)
  }

  /// Copies the next part of the body.
  mutating func copyBody(into buffer: UnsafeMutableBufferPointer<UInt8>) -> BodyPart {
    guard let response else { return .bytes(0, isLast: true) }
    let end = min(response.fault?.bodyBytes ?? response.body.count, response.body.count)
    let count = min(buffer.count, end - sent)
    if count == 0, let fault = response.fault { return .fault(fault) }
    if count > 0 {
      response.body.withUnsafeBufferPointer { buffer.baseAddress!.update(from: $0.baseAddress! + sent, count: count) }
    }
    sent += count
    return .bytes(count, isLast: sent == end && response.fault == nil)
  }
}
