import Formats

/// The address of a PostgreSQL database, and the credentials for it.
public struct PostgresEndpoint: Sendable, CustomStringConvertible {
  /// A URL that is not one of a database. The text does not repeat the URL, because it may hold a password.
  public struct InvalidURL: Error, Sendable, CustomStringConvertible {
    /// What is wrong.
    public let description: String
  }

  /// Host names or addresses with their ports. The client tries one after the other, until one takes writes.
  public var hosts: [(host: String, port: Int)]
  /// The database.
  public var database: String
  /// The user.
  public var user: String
  /// The password; never printed.
  public var password: String?
  /// A file with the certificates that may sign the server's certificate.
  ///
  /// With it, the client demands TLS, a certificate for the host's name, and a log-in that is bound to this TLS
  /// connection. Without it, the client encrypts if the server can, and does not check who the server is.
  public var caFile: String?
  /// The time for one attempt to connect.
  public var connectTimeout: Duration = .seconds(5)
  /// The time for the reply to a trip.
  public var replyTimeout: Duration = .seconds(15)
  /// The time that a statement waits for one lock (`lock_timeout`).
  public var lockTimeout: Duration = .seconds(2)
  /// More settings of each session, such as `enable_seqscan` with `off`. Neither part has spaces or backslashes.
  public var sessionSettings: [(name: String, value: String)] = []
  /// The name that PostgreSQL shows in its list of sessions.
  public var applicationName = "countersign"

  /// Reads a URL of the form `postgresql://user:password@host:port,host2:port2/database`.
  ///
  /// - Parameters:
  ///   - url: the scheme may also be `postgres`. Each port is 5432 by default.
  ///   - password: replaces the URL's.
  ///   - caFile: see ``caFile``.
  /// - Throws: ``InvalidURL``.
  public init(url: String, password: String?, caFile: String?) throws {
    guard let scheme = ["postgresql://", "postgres://"].first(where: url.hasPrefix) else {
      throw InvalidURL(description: "expected a URL of the form postgresql://user@host:port,host2:port2/database")
    }
    var rest = url.dropFirst(scheme.count)
    guard !rest.contains("?"), !rest.contains("#") else {
      throw InvalidURL(description: "a URL of PostgreSQL has no parameters here")
    }
    guard let slash = rest.firstIndex(of: "/"),
      let database = PercentCoding.decoded(rest[rest.index(after: slash)...]), !database.isEmpty
    else { throw InvalidURL(description: "the URL has no database") }
    rest = rest[..<slash]
    guard let at = rest.lastIndex(of: "@") else { throw InvalidURL(description: "the URL has no user") }
    let credentials = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let user = PercentCoding.decoded(credentials[0]), !user.isEmpty else {
      throw InvalidURL(description: "the URL has no user")
    }
    self.database = database
    self.user = user
    self.password = password
    if password == nil, credentials.count == 2 {
      guard let own = PercentCoding.decoded(credentials[1]) else {
        throw InvalidURL(description: "the URL's password has a malformed escape")
      }
      self.password = own
    }
    self.caFile = caFile
    hosts = try rest[rest.index(after: at)...].split(separator: ",", omittingEmptySubsequences: false).map(Self.host)
  }

  private static func host(_ text: Substring) throws -> (host: String, port: Int) {
    var name = text
    var port: Substring?
    if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
      name = text[text.index(after: text.startIndex)..<end]
      let rest = text[text.index(after: end)...]
      if !rest.isEmpty {
        guard rest.hasPrefix(":") else { throw InvalidURL(description: "the URL has a malformed host") }
        port = rest.dropFirst()
      }
    } else if let colon = text.firstIndex(of: ":") {
      name = text[..<colon]
      port = text[text.index(after: colon)...]
    }
    guard let host = PercentCoding.decoded(name), !host.isEmpty else {
      throw InvalidURL(description: "the URL has no host")
    }
    guard let port else { return (host, 5432) }
    guard let number = Int(port), (1...65535).contains(number) else {
      throw InvalidURL(description: "the URL has a malformed port")
    }
    return (host, number)
  }

  /// Hosts, ports and database, without the credentials.
  public var description: String {
    hosts.map { $0.host.contains(":") ? "[\($0.host)]:\($0.port)" : "\($0.host):\($0.port)" }
      .joined(separator: ",") + "/" + database
  }
}
