/// One answer, complete in memory.
public struct HTTPServerResponse: Sendable {
  /// The status code.
  public var status: Int
  /// Header fields, beside those of the framing.
  public var headers: [(name: String, value: String)]
  /// The body.
  public var body: [UInt8]

  /// Creates an answer.
  public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// Creates an answer with a text body.
  public static func text(_ status: Int, _ text: String, type: String = "text/plain; charset=utf-8") -> Self {
    HTTPServerResponse(status: status, headers: [("Content-Type", type)], body: Array(text.utf8))
  }
}
