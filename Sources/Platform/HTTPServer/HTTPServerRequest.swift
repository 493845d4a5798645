import EventLoop
import Formats

/// One request, complete in memory.
public struct HTTPServerRequest: Sendable {
  /// The method as sent.
  public let method: String
  /// The path as sent, without the query.
  public let rawPath: String
  /// The path's segments, each percent-decoded, so an encoded slash never makes a segment.
  public let path: [String]
  /// The parameters of the query, each percent-decoded, in their order.
  public let query: [(name: String, value: String)]
  /// Header fields as sent.
  public private(set) var headers: [(name: String, value: String)]
  /// The body; empty after ``forgetBody()``.
  public var body: [UInt8] { content?.bytes ?? [] }
  /// Where it comes from.
  public let origin: RequestOrigin
  /// All copies of the request share it. A request without a body has none.
  private let content: RequestBody?

  /// Creates a request that no connection brings: that of a test, or of a process to itself.
  ///
  /// - Parameter rawPath: `nil` for the plain form of the path.
  public init(
    method: String, path: [String], rawPath: String? = nil, query: [(name: String, value: String)] = [],
    headers: [(name: String, value: String)] = [], body: [UInt8] = [], origin: RequestOrigin = RequestOrigin()
  ) {
    self.method = method
    self.rawPath = rawPath ?? "/" + path.joined(separator: "/")
    self.path = path
    self.query = query
    self.headers = headers
    self.origin = origin
    content = body.isEmpty ? nil : RequestBody(body)
  }

  /// Creates a request of a server.
  ///
  /// - Parameter onForget: called when the handler forgets the body.
  init(
    method: String, rawPath: String, path: [String], query: [(name: String, value: String)],
    headers: [(name: String, value: String)], body: [UInt8], origin: RequestOrigin,
    onForget: (@LoopActor @Sendable () -> Void)?
  ) {
    (self.method, self.rawPath, self.path, self.query, self.headers) = (method, rawPath, path, query, headers)
    self.origin = origin
    content = body.isEmpty ? nil : RequestBody(body, onForget: onForget)
  }

  /// Forgets the body. A handler that has read it and waits for long keeps no memory for it then.
  @LoopActor public func forgetBody() { content?.forget() }

  /// Returns the request with one value of a header field, in place of the received ones.
  public func replacing(_ name: String, with value: String) -> HTTPServerRequest {
    var request = self
    request.headers.removeAll { isSameField($0.name, name) }
    request.headers.append((name, value))
    return request
  }

  /// Returns the first value of a header field. Capitals in the name make no difference.
  public func header(_ name: String) -> String? { firstValue(of: name, in: headers) }

  /// Returns all values of a header field, in their order. Capitals of ASCII in the name make no difference.
  public func values(of name: String) -> [String] {
    headers.filter { isSameField($0.name, name) }.map(\.value)
  }

  /// Returns the first value of a parameter of the query.
  public func query(_ name: String) -> String? { query.first { $0.name.isExactly(name) }?.value }
}

/// Returns the first value of a header field.
func firstValue(of name: String, in headers: [(name: String, value: String)]) -> String? {
  headers.first { isSameField($0.name, name) }?.value
}

/// Whether two names name one header field (RFC 9110, section 5.1: only capitals make no difference).
func isSameField(_ name: String, _ other: String) -> Bool {
  guard name.utf8.count == other.utf8.count else { return false }
  // Nearly every client writes the name as the caller does.
  return name.isExactly(other)
    || zip(name.utf8, other.utf8).allSatisfy { byte, other in
      byte == other || byte ^ other == 0x20 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}

/// Splits a raw path into decoded segments; `nil` when an escape is malformed or not UTF-8.
public func pathSegments(_ raw: Substring) -> [String]? {
  var segments: [String] = []
  for part in raw.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true) {
    guard let segment = PercentCoding.decoded(Substring(part)) else { return nil }
    segments.append(segment)
  }
  return segments
}

/// Splits a raw query into decoded parameters; `nil` when an escape is malformed or not UTF-8.
///
/// A plus sign is a space. A parameter without `=` has an empty value.
func queryParameters(_ raw: Substring) -> [(name: String, value: String)]? {
  var parameters: [(name: String, value: String)] = []
  var rest = raw.utf8
  while !rest.isEmpty {
    let part = rest.prefix { $0 != UInt8(ascii: "&") }
    rest = rest[part.endIndex...].dropFirst()
    let name = part.prefix { $0 != UInt8(ascii: "=") }
    let value = part[name.endIndex...].dropFirst()
    guard let name = queryText(Substring(name)), let value = queryText(Substring(value)) else { return nil }
    parameters.append((name, value))
  }
  return parameters
}

/// Decodes a name or a value of a query.
private func queryText(_ raw: Substring) -> String? {
  let plus = UInt8(ascii: "+")
  guard raw.utf8.contains(plus) else { return PercentCoding.decoded(raw) }
  let spaced = String(decoding: raw.utf8.map { $0 == plus ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
  return PercentCoding.decoded(spaced[...])
}
