import CMicroHTTPD

/// One answer: complete in memory, or with a body that is written while the client reads it.
public struct HTTPServerResponse: Sendable {
  /// The status code.
  public var status: Int
  /// Header fields, beside those of the framing.
  public var headers: [(name: String, value: String)]
  /// The body.
  public var body: [UInt8]
  /// The body of an answer that is not complete yet, in place of ``body``. The server tells it when nobody reads it.
  public var stream: AnswerStream?

  /// Creates an answer.
  public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// Creates an answer whose body is written while the client reads it. HEAD gets the head alone.
  public init(status: Int, headers: [(name: String, value: String)] = [], stream: AnswerStream) {
    self.init(status: status, headers: headers)
    self.stream = stream
  }

  /// Creates an answer with a text body.
  public static func text(_ status: Int, _ text: String, type: String = "text/plain; charset=utf-8") -> Self {
    HTTPServerResponse(status: status, headers: [("Content-Type", type)], body: Array(text.utf8))
  }
}

extension HTTPServerResponse {
  /// The answer as it goes over the wire when the server ends a connection with it.
  ///
  /// - Parameter method: of the request. The answer to HEAD has no body.
  func closing(_ method: String) -> [UInt8] {
    let reason = MHD_get_reason_phrase_for(UInt32(status)).map { String(cString: $0) } ?? ""
    var head = "HTTP/1.1 \(status) \(reason)\r\n"
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    head += "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
    return Array(head.utf8) + (method == "HEAD" ? [] : body)
  }

  /// Makes libmicrohttpd's form of the answer, which the caller owns; `nil` without memory.
  ///
  /// The function is isolated to no actor. A closure of the loop asks at each call whether it runs there, even inside
  /// `withUnsafeBytes` and `withCString`.
  func makeMHDResponse() -> OpaquePointer? {
    let made = body.withUnsafeBytes {
      // Only the type is mutable: with MUST_COPY, libmicrohttpd only reads the bytes.
      MHD_create_response_from_buffer($0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
    }
    guard let made else { return nil }
    addHeaders(to: made)
    return made
  }

  /// Gives libmicrohttpd's form of the answer its header fields.
  func addHeaders(to made: OpaquePointer) {
    for (name, value) in headers {
      // If the call got the Swift texts, Swift would copy each into an array first.
      _ = name.withCString { name in value.withCString { MHD_add_response_header(made, name, $0) } }
    }
  }
}
