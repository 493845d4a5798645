import Formats

extension Settings {
  /// Says which URLs have no TLS although their port is the usual one with TLS, one sentence for each URL.
  ///
  /// It may be right: some servers use such a port without TLS.
  public var plainPorts: [String] {
    var warnings: [String] = []
    if rabbitmq.tls == nil, rabbitmq.nodes.contains(where: { $0.port == 5671 }) {
      warnings.append("rabbitmq.url: port 5671 is RabbitMQ's usual port with TLS; if it speaks TLS, use amqps://")
    }
    if redis.tls == nil, redis.sentinels == nil, redis.address.port == 6380 {
      warnings.append("redis.url: port 6380 is Redis' usual port with TLS; if it speaks TLS, use rediss://")
    }
    return warnings
  }
}
