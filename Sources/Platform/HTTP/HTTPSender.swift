public import EventLoop

/// A client that sends one request and returns its whole answer.
@LoopActor
public protocol HTTPSender: AnyObject {
  /// Sends a request and returns the whole answer with any status.
  ///
  /// - Throws: ``HTTPClientError``.
  func send(_ request: HTTPClientRequest) async throws(HTTPClientError) -> HTTPClientResponse

  /// How many requests are under way.
  var inFlight: Int { get }

  /// Ends all requests with ``HTTPClientError/Code/cancelled`` and closes the connections.
  func close()
}
