/// One request, complete in memory.
public struct HTTP2Request: Sendable {
  /// The method, in capitals.
  public var method: String
  /// The path with its query, as sent.
  public var path: String
  /// The host that the client believes it talks to.
  public var authority: String
  /// Header fields in the order they came, names in lower case.
  public var headers: [(name: String, value: String)]
  /// The body; empty when the request has none.
  public var body: [UInt8]
  /// The number of its connection, from 1; 0 for a request that came over none.
  public var connection = 0

  /// Creates a request, for tests of handlers.
  public init(
    method: String = "GET", path: String, authority: String = "", headers: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) {
    self.method = method
    self.path = path
    self.authority = authority
    self.headers = headers
    self.body = body
  }

  /// Returns the first value of a header field; the name in lower case.
  public func header(_ name: String) -> String? {
    headers.first { $0.name == name }?.value
  }
}
