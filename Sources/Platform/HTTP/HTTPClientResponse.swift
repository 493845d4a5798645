import Formats

/// One answer, complete in memory.
public struct HTTPClientResponse: Sendable {
  /// The status code.
  public var status: Int
  /// Header fields as received, names in lower case.
  public var headers: [(name: String, value: String)]
  /// The body, decompressed.
  public var body: [UInt8]

  /// Creates an answer, for tests and fakes.
  public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// Returns the first value of a header field. Capitals in the name make no difference.
  public func header(_ name: String) -> String? {
    let name = name.lowercased()
    return headers.first { $0.name.isExactly(name) }?.value
  }
}
