/// The limits of one client, and the authorities that it trusts.
public struct HTTPClientConfiguration: Sendable {
  /// A PEM file of certificate authorities instead of the system's.
  public var caFile: String?
  /// The `User-Agent` of every request.
  public var userAgent = "countersign"
  /// Connections per host. Further requests wait, or share a connection by HTTP/2.
  public var maxConnectionsPerHost = 4
  /// Whether a request waits to see if an opening connection can be shared by HTTP/2, instead of opening another.
  ///
  /// Waiting is right for one known host and wrong for many unknown ones.
  public var awaitsMultiplexing = true
  /// Time for DNS, TCP and TLS together.
  public var connectTimeout: Duration = .seconds(5)
  /// Whether the client keeps a connection for the next request.
  ///
  /// If the server has closed a kept connection meanwhile, libcurl sends the request again by itself.
  public var keepsConnections = true
  /// Whether `http://` is allowed beside `https://`.
  public var allowsPlainHTTP = false
  /// A check with the 4 or 16 bytes of an address, each time the client opens a socket; `nil` allows all addresses.
  ///
  /// With it, the client does not use proxies of the environment: a proxy's address does not tell where it leads.
  public var allowsAddress: (@Sendable ([UInt8]) -> Bool)?

  /// Creates a configuration with the defaults above.
  public init() {}
}
