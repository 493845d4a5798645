import CMicroHTTPD
import EventLoop
import Glibc

/// One request and its answer, for as long as libmicrohttpd holds it.
@LoopActor
final class Exchange {
  let connection: OpaquePointer
  let record: ServerConnection
  let rawPath: Substring
  let rawQuery: Substring
  /// Whether the head is complete and the server knows the method and the header fields.
  private(set) var isBegun = false
  private(set) var method = ""
  private(set) var headers: [(name: String, value: String)] = []
  /// The body, as far as it has arrived. The request takes it.
  var body: [UInt8] = []
  var received = 0
  /// The memory in which a large body has its place; `nil` for a path without large bodies.
  var room: HTTPServer.LargeBody.Room?
  /// The most bytes that the body may have.
  var maxBodyBytes = 0
  var framing = BodyFraming.none
  /// The answer, as soon as it is known. It goes out behind the body, whose rest goes by unread.
  var response: HTTPServerResponse?
  /// The body of the answer, if it is written while the client reads it.
  var stream: AnswerStream?
  /// Whether libmicrohttpd has suspended the connection until the stream has its next piece.
  var awaitsPiece = false
  var origin: RequestOrigin

  init(record: ServerConnection, target: String) {
    (self.record, connection) = (record, record.connection)
    origin = RequestOrigin(peer: record.peer)
    let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
    rawPath = target[..<mark]
    rawQuery = target[mark...].dropFirst()
  }

  /// A path or a query that is malformed.
  struct Malformed: Error { let answer: HTTPServerResponse }

  /// The request, with the body as far as it has arrived.
  func request(onForget: (@LoopActor @Sendable () -> Void)? = nil) throws(Malformed) -> HTTPServerRequest {
    guard let path = pathSegments(rawPath) else { throw Malformed(answer: .text(400, "malformed path\n")) }
    guard let query = queryParameters(rawQuery) else { throw Malformed(answer: .text(400, "malformed query\n")) }
    return HTTPServerRequest(
      method: method, rawPath: String(rawPath), path: path, query: query, headers: headers, body: body,
      origin: origin, onForget: onForget)
  }

  /// Makes the body's memory large enough for further bytes.
  ///
  /// - Returns: by how much it has grown.
  func grow(for count: Int) -> Int {
    let (present, needed) = (body.capacity, body.count + count)
    guard needed > present else { return 0 }
    body.reserveCapacity(Self.capacity(for: needed, most: framing.length(upTo: maxBodyBytes)))
    return body.capacity - present
  }

  /// The capacity of an array that grows: at first twice what it needs, later a quarter more, and never more than it
  /// can need.
  ///
  /// An array that grew by itself would double. So a body could hold twice what it needs.
  nonisolated static func capacity(for needed: Int, most: Int) -> Int {
    max(needed, min(needed + max(needed / 4, min(needed, 64 << 10)), most))
  }

  /// Takes the method and the header fields.
  func readHead(method: String) {
    isBegun = true
    self.method = method
    headers.reserveCapacity(Self.usualHeaders)
    // Unretained is right: libmicrohttpd calls back only during this call.
    MHD_get_connection_values(connection, .HEADER_KIND, onHeader, Unmanaged.passUnretained(self).toOpaque())
  }

  /// The exchange reserves memory for this number of fields at once.
  private static let usualHeaders = 8
  /// The bytes that libmicrohttpd keeps for each header field and cookie, beside its text.
  private static let entryBytes = 64

  /// How much of the connection's memory is in use: the head as it came, and an entry for each of its parts.
  ///
  /// libmicrohttpd copies the cookies and makes an entry for each of them too.
  var headerBytes: Int {
    var cookies = 0
    for (name, value) in headers where isSameField(name, "Cookie") {
      cookies += value.utf8.count + (1 + value.utf8.count { $0 == UInt8(ascii: ";") }) * Self.entryBytes
    }
    return countersign_mhd_head_size(connection) + headers.count * Self.entryBytes + cookies
  }

  /// Refuses a head that is too long. The server then only has to close the connection.
  ///
  /// The refusal goes straight to the socket. If the head has nearly the size of the connection's memory, libmicrohttpd
  /// has no room for any answer and would close the connection without one. The socket already has all earlier answers
  /// of this connection, so the order is kept.
  func refuseHead() {
    record.write(.text(431, "the request line and the header fields are too long\n"), to: method)
  }

  /// Whether the answer is out before the body. The server drops what still comes, and then closes the connection.
  private(set) var isAnsweredEarly = false

  /// Answers before the body, and asks the client to close.
  ///
  /// libmicrohttpd would close the connection at once. If bytes then stay unread, the system resets it, and the client
  /// may lose the answer (RFC 9112, section 9.6). So the server ends its own direction only. The limits of a body bound
  /// for how long, and for how many bytes, it reads on.
  func answerEarly(_ response: HTTPServerResponse) {
    isAnsweredEarly = true
    record.finish(response, to: method)
  }

  /// Refuses a head whose cookies did not fit the memory.
  ///
  /// libmicrohttpd copies the cookies before the first call for a request. If it then has no room for its own 431
  /// either, it closes the connection without one. It does not tell whether it had room. But its own 431 asks the
  /// client to close, and the client ignores what follows.
  func refuseCookies() {
    guard !isBegun, !record.isCut else { return }
    if countersign_mhd_status(connection) == 431, countersign_mhd_head_size(connection) > 0 { refuseHead() }
  }

  /// Whether the server takes nothing more of this request, and answers nothing.
  ///
  /// libmicrohttpd calls for each piece. So this counts as a sign of life too.
  var isOver: Bool {
    record.calls &+= 1
    return record.isCut
  }

  func header(_ name: String) -> String? { firstValue(of: name, in: headers) }

  fileprivate func add(_ name: String, _ value: String) { headers.append((name, value)) }
}

private func onHeader(
  _ context: UnsafeMutableRawPointer?, _: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> MHD_Result {
  let exchange = Unmanaged<Exchange>.fromOpaque(context!).takeUnretainedValue()
  let (name, value) = (String(cString: name!), value.map { String(cString: $0) } ?? "")
  LoopActor.assumeIsolated(with: (exchange, name, value)) { $0.add($1, $2) }
  return .YES
}
