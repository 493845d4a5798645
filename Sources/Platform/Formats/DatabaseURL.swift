/// The URL of a PostgreSQL database: `postgresql://user:password@host:port,host2:port2/database`.
public struct DatabaseURL: Sendable {
  /// The user.
  public let user: String
  /// The password; never printed.
  public let password: String?
  /// The servers, at least one.
  public let hosts: [ServerAddress]
  /// The database.
  public let database: String

  /// The form, for people.
  public static let form = "a URL of the form postgresql://user:password@host:port,host2:port2/database"

  /// Reads a URL; `nil` when it has not the form. The scheme may also be `postgres`, and each port is 5432 by default.
  public init?(_ text: String) {
    guard let url = ServerURL(text, namesSeveral: true), ["postgresql", "postgres"].contains(url.scheme),
      let user = url.user, Self.isName(user), Self.isName(url.path), !url.path.contains("/"),
      url.password?.contains("\0") != true
    else { return nil }
    (self.user, password, database) = (user, url.password, url.path)
    var hosts: [ServerAddress] = []
    for server in url.addresses(port: 5432) {
      guard let host = PercentCoding.decoded(server.host[...]), Self.isName(host) else { return nil }
      hosts.append(ServerAddress(host: host, port: server.port))
    }
    self.hosts = hosts
  }

  /// libpq takes texts that end at a zero byte.
  private static func isName(_ text: String) -> Bool { !text.isEmpty && !text.contains("\0") }
}
