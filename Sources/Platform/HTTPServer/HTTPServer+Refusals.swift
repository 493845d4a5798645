import CMicroHTTPD

/// What the server answers without its handler.
extension HTTPServer {
  /// Answers before a body that may be of any length, or after which nobody knows what follows.
  func refuseAndClose(_ exchange: Exchange, _ refusal: HTTPServerResponse) -> MHD_Result {
    guard exchange.header("Expect") != nil else {
      exchange.answerEarly(refusal)
      return .YES
    }
    // A client that waits for "100 Continue" sends no body, and libmicrohttpd may answer it.
    var refusal = refusal
    refusal.headers.append(("Connection", "close"))
    return send(refusal, exchange)
  }

  /// The answer to a head with a large body that gets no room. The body then goes by unread: a client that still sends
  /// would lose an answer before its end.
  func refusal(of exchange: Exchange, in room: LargeBody.Room) -> HTTPServerResponse? {
    let head: HTTPServerRequest
    do { head = try exchange.request() } catch { return error.answer }
    switch configuration.admitHead(head) {
    case .refused(let response): return response
    case .admitted(let sender):
      rooms[room]?.begin(exchange.record.id, sender: sender, address: AddressGroup(exchange.origin.client))
      return nil
    }
  }

  /// A plain answer to a body that the server does not take.
  public static func refusal(of _: Substring, _ reason: BodyRefusal) -> HTTPServerResponse {
    switch reason {
    case .tooLong: .text(413, "too large\n")
    case .noRoom: comeAgain
    }
  }

  static let comeAgain = HTTPServerResponse(status: 503, headers: [("Retry-After", "1")])
  static let tooMany = HTTPServerResponse(status: 429, headers: [("Retry-After", "1")])
}
