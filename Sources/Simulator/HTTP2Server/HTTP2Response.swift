import HTTP2

/// One answer, complete in memory, or the order to break off.
public struct HTTP2Response: Sendable {
  /// A failure that HTTP itself cannot express; the clients of a stand-in must survive it.
  public enum Fault: Equatable, Sendable {
    /// The stream ends with RST_STREAM: at once, or after the head and so many bytes of the body.
    case resetStream(afterBodyBytes: Int?)
    /// The TCP connection ends with RST, and every other stream ends with it: at once, or as above.
    case resetConnection(afterBodyBytes: Int?)

    /// How many bytes of the body the server sends first; `nil` when it sends not even the head.
    var bodyBytes: Int? {
      switch self {
      case .resetStream(let count), .resetConnection(let count): count
      }
    }
  }

  /// The status code.
  public var status: Int
  /// Header fields. The server sends the names in lower case, and adds `content-length`.
  public var headers: [(name: String, value: String)]
  /// The body.
  public var body: [UInt8]
  /// How the server breaks off the answer, if it does.
  public var fault: Fault?

  /// Creates an answer.
  public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [], fault: Fault? = nil) {
    self.status = status
    self.headers = headers
    self.body = body
    self.fault = fault
  }

  /// Adds all header fields, as HTTP/2 has them.
  func addHeaderFields(to fields: inout HeaderFields) {
    fields.add(":status", String(status))
    for (name, value) in headers { fields.add(name, value) }
    fields.add("content-length", String(body.count))
  }
}
