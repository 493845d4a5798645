import Formats

// A process takes a new login only for the place of its data. If the configuration names another place, the old login
// stays whole until the next start: the new password or certificate belongs to the new place.

extension RabbitMQSettings {
  /// Takes addresses, user and password of other settings, if they name the same virtual host. Jobs must not be
  /// published in one and consumed in another.
  public mutating func take(loginOf other: RabbitMQSettings) {
    guard other.virtualHost.isExactly(virtualHost) else { return }
    (nodes, user, password) = (other.nodes, other.user, other.password)
    (tls, logsInByCertificate) = (other.tls, other.logsInByCertificate)
  }
}

extension RedisSettings {
  /// Takes address, user and password of other settings, also those of the sentinels, if they name the same database.
  /// Other keys would be another Redis.
  public mutating func take(loginOf other: RedisSettings) {
    guard other.database == database else { return }
    (address, sentinels) = (other.address, other.sentinels)
    (user, password, tls) = (other.user, other.password, other.tls)
  }
}

extension LedgerSettings {
  /// Takes addresses, user and password of other settings, if they name the same database. A process must not write to
  /// two ledgers.
  public mutating func take(loginOf other: LedgerSettings) {
    guard Self.database(of: other.url) == Self.database(of: url) else { return }
    (url, password, caFile) = (other.url, other.password, other.caFile)
  }

  /// The part of the URL behind the hosts.
  private static func database(of url: String) -> ExactText {
    let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
    return ExactText(String(rest.drop { $0 != "/" }))
  }
}
