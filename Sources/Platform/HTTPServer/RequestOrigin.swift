/// Where a request comes from. The server finds it out once for each request.
public struct RequestOrigin: Sendable {
  /// The numeric address of the socket's peer: the client, or a proxy before the server. `nil` if it is not known.
  public let peer: String?
  /// The numeric address of the client: the socket's peer, or who a listed proxy says it is. `nil` if it is not known.
  public let client: String?
  /// Whether the socket's peer is a listed proxy.
  public let isProxied: Bool

  /// A request of the socket's peer itself.
  public init(peer: String? = nil) { (self.peer, client, isProxied) = (peer, peer, false) }

  /// A request that a listed proxy brought.
  ///
  /// - Parameter client: who it says the client is; `nil` if that is not known.
  public init(proxy: String, client: String?) { (peer, self.client, isProxied) = (proxy, client, true) }
}
