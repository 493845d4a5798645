import HTTP2

/// One answer, complete in memory, or the order to break off.
public struct HTTP2Response: Sendable {
  /// A way to fail that HTTP itself cannot say; the clients of a stand-in must survive them.
  public enum Fault: Equatable, Sendable {
    /// The stream ends with RST_STREAM: at once, or behind the head and so many bytes of the body.
    case resetStream(afterBodyBytes: Int?)
    /// The TCP connection ends with RST, and with it every other stream: at once, or as above.
    case resetConnection(afterBodyBytes: Int?)

    /// How many bytes of the body are sent first; `nil` when not even the head is.
    var bodyBytes: Int? {
      switch self {
      case .resetStream(let count), .resetConnection(let count): count
      }
    }
  }

  /// The status code.
  public var status: Int
  /// Header fields; names are sent in lower case, and `content-length` is added.
  public var headers: [(name: String, value: String)]
  /// The body.
  public var body: [UInt8]
  /// How the answer is broken off, if it is.
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
