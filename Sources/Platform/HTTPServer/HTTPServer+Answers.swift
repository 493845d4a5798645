/// The answers that clients have not read.
extension HTTPServer {
  /// Answers up to this size always go out. All connections together may have one of them each.
  nonisolated static let smallAnswerBytes = 16 << 10

  /// The bytes of all large answers that their clients have not read to the end.
  public var unreadAnswerBytes: Int { unreadAnswers.held }

  /// Gives an answer its room, until the client has read it to the end.
  ///
  /// libmicrohttpd holds the whole answer until then, however little is missing. A client that reads nothing is cut as
  /// a slow reader some time later, but thousands of them would fill the memory before. Answers of clients that hold
  /// more may have to go for this one.
  ///
  /// An answer that is larger than the share of an address counts as that share. So a very large one goes out, to a
  /// client that has no other.
  ///
  /// - Returns: the answer; without room, a small one that asks the client to come again.
  func withRoom(_ response: HTTPServerResponse, _ exchange: Exchange) -> HTTPServerResponse {
    guard response.body.count > Self.smallAnswerBytes else { return response }
    let id = exchange.record.id
    unreadAnswers.begin(id, sender: nil, address: AddressGroup(exchange.origin.client))
    switch unreadAnswers.take(min(response.body.count, unreadAnswers.mostOfOne), for: id) {
    case .taken(let victims):
      for victim in victims { cut(ConnectionPlaces.Cut(id: victim, cause: .answerRoom)) }
      return response
    case .refused:
      unreadAnswers.end(id)
      configuration.onBodyRefused(.unread)
      return Self.comeAgain
    }
  }
}
