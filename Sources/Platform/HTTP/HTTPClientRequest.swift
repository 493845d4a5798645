/// One request, complete in memory.
public struct HTTPClientRequest: Sendable {
  /// The method, in capitals.
  public var method: String
  /// The absolute URL, already encoded.
  public var url: String
  /// Header fields in the order of sending.
  public var headers: [(name: String, value: String)]
  /// The body; `nil` for a request without one.
  public var body: [UInt8]?
  /// Time from the start of the call to the last byte of the answer.
  public var timeout: Duration
  /// The most bytes of an answer. The client reports a longer answer as an error as soon as it passes the limit.
  public var maxResponseBytes: Int
  /// Whether the client cuts a longer answer off at the limit instead, for a caller that only needs the status.
  public var cutsLongResponse = false
  /// Whether the client accepts any certificate, for any name.
  public var trustsAnyCertificate = false

  /// Creates a request. By default it has 30 seconds and 1 MiB of answer.
  public init(
    _ method: String = "GET", _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
    timeout: Duration = .seconds(30), maxResponseBytes: Int = 1 << 20
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeout = timeout
    self.maxResponseBytes = maxResponseBytes
  }
}
