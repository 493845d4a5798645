import EventLoop
import Formats

/// The parameters of libpq for one attempt at one address.
enum ConnectParameters {
  /// The parameters. libpq would look up the others by itself.
  ///
  /// - Parameter libraryVersion: see ``LibraryVersion``.
  static func parameters(
    _ endpoint: PostgresEndpoint, _ server: ServerAddress, address: String, libraryVersion: Int32
  ) -> [(name: String, value: String)] {
    var parameters = [
      // libpq looks up no name if it has the address. The name is for the check of the certificate.
      ("host", server.host), ("hostaddr", address), ("port", String(server.port)),
      ("dbname", endpoint.database), ("user", endpoint.user), ("password", endpoint.password ?? ""),
      // A file that cannot exist: libpq reads no passwords of its own, and complains about /dev/null on stderr.
      ("passfile", "/dev/null/none"),
      ("application_name", endpoint.applicationName), ("client_encoding", "UTF8"), ("options", options(endpoint)),
      ("target_session_attrs", "read-write"),
      // A variable of the process could allow older versions.
      ("ssl_min_protocol_version", "TLSv1.2"),
      // Kerberos would read files.
      ("gssencmode", "disable"),
      // An idle connection to a host that is gone ends within a minute.
      ("keepalives_idle", "30"), ("keepalives_interval", "10"), ("keepalives_count", "3"),
      ("tcp_user_timeout", String(endpoint.replyTimeout.wholeMilliseconds)),
    ]
    if let caFile = endpoint.caFile {
      parameters += [("sslmode", "verify-full"), ("sslrootcert", caFile), ("channel_binding", "require")]
    } else {
      parameters.append(("sslmode", LibraryVersion.isSafeWithTLS(libraryVersion) ? "prefer" : "disable"))
    }
    return parameters
  }

  private static func options(_ endpoint: PostgresEndpoint) -> String {
    settings(endpoint).map { "-c \($0.name)=\($0.value)" }.joined(separator: " ")
  }

  /// The settings of the session, each with the name and the value that the view `pg_settings` shows: so in the
  /// smallest unit.
  ///
  /// Just-in-time compilation never pays for statements as short as ours. The server rolls back for a process that
  /// stands still in the middle of a transaction, so that its locks do not hold up others.
  static func settings(_ endpoint: PostgresEndpoint) -> [(name: String, value: String)] {
    [
      ("TimeZone", "UTC"), ("jit", "off"),
      ("idle_in_transaction_session_timeout", "\(endpoint.idleInTransactionTimeout.wholeMilliseconds)"),
      ("lock_timeout", "\(endpoint.lockTimeout.wholeMilliseconds)"),
    ] + endpoint.sessionSettings
  }
}
