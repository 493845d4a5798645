/// One request, complete in memory.
public struct HTTPClientRequest: Sendable {
  /// The method, in capitals.
  public var method: String
  /// The absolute URL, already encoded.
  public var url: String
  /// Header fields in the order they are sent.
  public var headers: [(name: String, value: String)]
  /// The body; `nil` sends none.
  public var body: [UInt8]?
  /// Time from the start of the call to the last byte of the answer.
  public var timeout: Duration
  /// A longer answer is an error, told as soon as the limit is passed.
  public var maxResponseBytes: Int
  /// Whether a longer answer is cut off at the limit instead, for a caller that goes by the status.
  public var cutsLongResponse = false
  /// Whether any certificate is taken, of any name.
  public var trustsAnyCertificate = false

  /// Creates a request: by default 30 seconds and 1 MiB of answer.
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
