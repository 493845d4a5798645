extension RabbitMQSettings {
  /// Takes address, user, password and virtual host of other settings.
  public mutating func take(loginOf other: RabbitMQSettings) {
    (host, port, user, password) = (other.host, other.port, other.user, other.password)
    (virtualHost, tls, logsInByCertificate) = (other.virtualHost, other.tls, other.logsInByCertificate)
  }
}

extension RedisSettings {
  /// Takes address, user and password of other settings.
  ///
  /// The database stays: other keys would be another Redis.
  public mutating func take(loginOf other: RedisSettings) {
    (host, port, user, password, tls) = (other.host, other.port, other.user, other.password, other.tls)
  }
}

extension LedgerSettings {
  /// Takes address, user and password of other settings.
  public mutating func take(loginOf other: LedgerSettings) {
    (url, password, caFile) = (other.url, other.password, other.caFile)
  }
}
