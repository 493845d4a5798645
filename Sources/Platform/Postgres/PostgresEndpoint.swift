public import Formats

/// The address of a PostgreSQL database, and the credentials for it.
public struct PostgresEndpoint: Sendable, CustomStringConvertible {
  /// A URL that is not one of a database. The text does not repeat the URL, because it may hold a password.
  public struct InvalidURL: Error, Sendable, CustomStringConvertible {
    /// What is wrong.
    public let description: String
  }

  /// Host names or addresses with their ports. The client tries one after the other, until one takes writes.
  public var hosts: [ServerAddress]
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
  /// The time after which the server rolls back for a client that stands still in the middle of a transaction
  /// (`idle_in_transaction_session_timeout`).
  public var idleInTransactionTimeout: Duration = .seconds(10)
  /// More settings of each session, such as `enable_seqscan` with `off`. Neither part has spaces or backslashes.
  public var sessionSettings: [(name: String, value: String)] = []
  /// The name that PostgreSQL shows in its list of sessions.
  public var applicationName = "countersign"

  /// Reads a URL; see `DatabaseURL`.
  ///
  /// - Parameters:
  ///   - password: replaces the URL's.
  ///   - caFile: see ``caFile``.
  /// - Throws: ``InvalidURL``.
  public init(url: String, password: String?, caFile: String?) throws {
    guard let parts = DatabaseURL(url) else { throw InvalidURL(description: "expected \(DatabaseURL.form)") }
    (user, database, hosts) = (parts.user, parts.database, parts.hosts)
    self.password = password ?? parts.password
    self.caFile = caFile
  }

  /// Hosts, ports and database, without the credentials.
  public var description: String {
    hosts.map(\.description).joined(separator: ",") + "/" + database
  }
}
