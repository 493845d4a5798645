/// The address of a broker, and the credentials for it.
public struct AMQPEndpoint: Sendable, CustomStringConvertible {
  /// Host name or address.
  public var host: String
  /// TCP port, 5672 by default.
  public var port: Int
  /// User name.
  public var user: String
  /// Password; never printed.
  public var password: String
  /// Virtual host, `/` by default.
  public var virtualHost: String
  /// An interval of silence after which the peer counts as dead. librabbitmq has no thread, so the connection's timer
  /// watches over it.
  public var heartbeat: Duration = .seconds(10)
  /// Time for TCP and log-in together.
  public var connectTimeout: Duration = .seconds(5)

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
