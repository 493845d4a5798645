/// Limits and trust of one client.
public struct HTTPClientConfiguration: Sendable {
  /// A PEM file of certificate authorities instead of the system's.
  public var caFile: String?
  /// The `User-Agent` of every request.
  public var userAgent = "countersign"
  /// Connections per host; further requests wait or share a connection by HTTP/2.
  public var maxConnectionsPerHost = 4
  /// Whether a request waits to see if an opening connection can be shared by HTTP/2, instead of opening another;
  /// right for one known host, wrong for many unknown ones.
  public var awaitsMultiplexing = true
  /// Time for DNS, TCP and TLS together.
  public var connectTimeout: Duration = .seconds(5)
  /// Whether a connection is kept for the next request. On a kept one that the server has closed meanwhile, libcurl
  /// sends a request again by itself.
  public var keepsConnections = true
  /// Whether `http://` is allowed beside `https://`.
  public var allowsPlainHTTP = false
  /// Asked with the 4 or 16 bytes of an address each time a socket is opened; `nil` allows all. With it, proxies of the
  /// environment are not used: a proxy's address says nothing about where it leads.
  public var allowsAddress: (@Sendable ([UInt8]) -> Bool)?

  /// Creates a configuration with the defaults above.
  public init() {}
}
