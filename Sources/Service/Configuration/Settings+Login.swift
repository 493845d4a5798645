extension RabbitMQSettings {
  /// Takes addresses, user, password and virtual host of other settings.
  public mutating func take(loginOf other: RabbitMQSettings) {
    (nodes, user, password) = (other.nodes, other.user, other.password)
    (virtualHost, tls, logsInByCertificate) = (other.virtualHost, other.tls, other.logsInByCertificate)
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
  /// Takes addresses, user and password of other settings.
  public mutating func take(loginOf other: LedgerSettings) {
    (url, password, caFile) = (other.url, other.password, other.caFile)
  }
}
