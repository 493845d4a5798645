/// A host and a port.
public struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
  /// Host name or address.
  public var host: String
  /// TCP port.
  public var port: Int

  /// Names a host and a port.
  public init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// The form of a URL: an IPv6 address has brackets.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
