public import Crypto
public import Formats

/// The address of a Redis, and the credentials for it.
public struct RedisEndpoint: Sendable, CustomStringConvertible {
  /// Where Redis listens.
  public var address: ServerAddress
  /// User of an access control list, if there is one.
  public var user: String?
  /// Password; never printed.
  public var password: String?
  /// Database number.
  public var database: Int
  /// The sentinels that know the primary; `nil` means that ``address`` leads to it.
  public var sentinels: RedisSentinels?
  /// The files for TLS; `nil` means a connection without TLS.
  public var tls: TLSClientFiles?
  /// Connections of one client.
  ///
  /// Redis reads 16 KiB of each connection in one turn of its loop, and writes to its disk once a turn (decision 0018).
  public var connections = 4
  /// The key of a test write that shows whether Redis takes writes. It lives for a second.
  public var probeKey = "countersign:probe"
  /// Time for a connection with TLS, and for the reply to a command.
  public var timeout: Duration = .seconds(3)

  /// Creates an endpoint from its parts.
  public init(_ address: ServerAddress, user: String? = nil, password: String? = nil, database: Int = 0) {
    self.address = address
    self.user = user
    self.password = password
    self.database = database
  }

  /// Creates an endpoint whose primary only sentinels know.
  public init(_ sentinels: RedisSentinels, user: String? = nil, password: String? = nil, database: Int = 0) {
    self.init(ServerAddress(host: "", port: 6379), user: user, password: password, database: database)
    self.sentinels = sentinels
  }

  /// Host and port, or the sentinels with the primary's name; without the credentials.
  public var description: String { sentinels?.description ?? address.description }

  /// The cause of the end of a connection that never got a reply, with advice: a port for TLS ends a connection without
  /// TLS, or answers it with bytes that are no reply.
  func explained(_ cause: String) -> String {
    tls == nil ? "\(cause); if this port speaks TLS, use rediss:// or rediss+sentinel:// in the URL" : cause
  }

  /// A write that Redis refuses while it takes no writes.
  var probe: [String] { ["SET", probeKey, "1", "PX", "1000"] }
}
