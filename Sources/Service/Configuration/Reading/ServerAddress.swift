/// Where a server listens.
public struct ServerAddress: Sendable, Hashable {
  /// Host name or address.
  public let host: String
  /// TCP port.
  public let port: Int
}

extension ServerURL {
  /// The addresses of the servers.
  ///
  /// - Parameter port: the port of a server whose port the URL does not name.
  func addresses(port: Int) -> [ServerAddress] {
    hosts.map { ServerAddress(host: $0.host, port: $0.port ?? port) }
  }
}
