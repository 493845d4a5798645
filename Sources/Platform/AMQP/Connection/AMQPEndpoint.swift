public import Crypto

/// The address of a broker, and the credentials for it.
public struct AMQPEndpoint: Sendable, CustomStringConvertible {
  /// Host name or address.
  public var host: String
  /// TCP port.
  public var port: Int
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
    self.host = host
    self.port = port
    self.user = user
    self.password = password
    self.virtualHost = virtualHost
  }

  /// Host and port, without the credentials.
  public var description: String { "\(host):\(port)" }
}
