import Formats

extension RabbitMQSettings {
  /// Takes addresses, user and password of other settings.
  ///
  /// The virtual host stays: jobs must not be published in one and consumed in another.
  public mutating func take(loginOf other: RabbitMQSettings) {
    (nodes, user, password) = (other.nodes, other.user, other.password)
    (tls, logsInByCertificate) = (other.tls, other.logsInByCertificate)
  }
}

extension RedisSettings {
  /// Takes address, user and password of other settings, also those of the sentinels.
  ///
  /// The database stays: other keys would be another Redis.
  public mutating func take(loginOf other: RedisSettings) {
    (host, port, sentinels) = (other.host, other.port, other.sentinels)
    (user, password, tls) = (other.user, other.password, other.tls)
  }
}

extension LedgerSettings {
  /// Takes addresses, user and password of other settings, if they name the same database. A process must not write to
  /// two ledgers.
  public mutating func take(loginOf other: LedgerSettings) {
    (password, caFile) = (other.password, other.caFile)
    if Self.database(of: other.url) == Self.database(of: url) { url = other.url }
  }

  /// The part of the URL behind the hosts.
  private static func database(of url: String) -> ExactText {
    let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
    return String(rest.drop { $0 != "/" }).exact
  }
}
