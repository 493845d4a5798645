/// Where a Redis is and who we are there.
public struct RedisEndpoint: Sendable, CustomStringConvertible {
  /// Host name or address.
  public var host: String
  /// TCP port, 6379 by default.
  public var port: Int
  /// User of an access control list, if there is one.
  public var user: String?
  /// Password; never printed.
  public var password: String?
  /// Database number.
  public var database: Int
  /// Time for a connection, and for the reply to a command.
  public var timeout: Duration = .seconds(3)

  /// Creates an endpoint from its parts.
  public init(host: String, port: Int = 6379, user: String? = nil, password: String? = nil, database: Int = 0) {
    self.host = host
    self.port = port
    self.user = user
    self.password = password
    self.database = database
  }

  /// Host and port, without the credentials.
  public var description: String { "\(host):\(port)" }
}
