public import Crypto
public import Formats

/// The addresses of a broker, and the credentials for it.
public struct AMQPEndpoint: Sendable, CustomStringConvertible {
  /// The nodes of the broker, at least one. A connection goes to any of them.
  public var nodes: [ServerAddress]
  /// User name.
  public var user: String
  /// Password; never printed.
  public var password: String
  /// Virtual host, `/` by default.
  public var virtualHost: String
  /// The files for TLS; `nil` means a connection without TLS.
  public var tls: TLSClientFiles?
  /// How this process logs in.
  public var mechanism = Mechanism.plain
  /// An interval of silence after which the peer counts as dead. The connection's timer watches over it.
  public var heartbeat: Duration = .seconds(10)
  /// Time for TCP, TLS and log-in together.
  public var connectTimeout: Duration = .seconds(5)
  /// Time for the answer to a method. It is longer than a broker needs for a queue whose leader is being elected.
  public var replyTimeout: Duration = .seconds(15)

  /// Ways to log in (SASL).
  public enum Mechanism: String, Sendable {
    /// With the user's name and the password.
    case plain = "PLAIN"
    /// With the client's certificate, which names the user.
    case external = "EXTERNAL"
  }

  /// Creates an endpoint from its parts.
  public init(
    host: String, port: Int = 5672, user: String = "guest", password: String = "guest", virtualHost: String = "/"
  ) {
    nodes = [ServerAddress(host: host, port: port)]
    self.user = user
    self.password = password
    self.virtualHost = virtualHost
  }

  /// Hosts and ports, without the credentials.
  public var description: String { nodes.map(\.description).joined(separator: ",") }

  /// The first node's host.
  public var host: String {
    get { nodes[0].host }
    set { nodes[0].host = newValue }
  }
  /// The first node's port.
  public var port: Int {
    get { nodes[0].port }
    set { nodes[0].port = newValue }
  }

  /// The nodes in the order in which one opening tries them: any order, and behind all others the one that failed.
  ///
  /// - Parameter failed: the node of the connection before, which has ended.
  func order(failed: ServerAddress?, _ random: inout some RandomNumberGenerator) -> [ServerAddress] {
    let shuffled = nodes.shuffled(using: &random)
    guard let failed, let place = shuffled.firstIndex(of: failed) else { return shuffled }
    return shuffled[..<place] + shuffled[(place + 1)...] + [failed]
  }
}
