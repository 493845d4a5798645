public import AMQP
public import Configuration
public import Domain
public import Messaging
public import Postgres
public import Redis

extension AMQPEndpoint {
  /// The broker of the configuration.
  public init(_ settings: RabbitMQSettings) {
    self.init(
      host: "", user: settings.user, password: settings.password, virtualHost: settings.virtualHost)
    nodes = settings.nodes
    heartbeat = settings.heartbeat
    tls = settings.tls
    if settings.logsInByCertificate { mechanism = .external }
  }
}

extension RedisEndpoint {
  /// The Redis of the configuration.
  public init(_ settings: RedisSettings) {
    self.init(
      host: settings.host, port: settings.port, user: settings.user, password: settings.password,
      database: settings.database)
    sentinels = settings.sentinels.map { sentinels in
      RedisSentinels(
        sentinels.addresses, primaryName: sentinels.primaryName, user: sentinels.user, password: sentinels.password)
    }
    timeout = settings.timeout
    tls = settings.tls
    connections = settings.connections
    probeKey = settings.prefix + "probe"
  }
}

extension PostgresEndpoint {
  /// The ledger of the configuration.
  ///
  /// - Parameter name: shown in PostgreSQL's list of sessions.
  /// - Throws: `PostgresEndpoint.InvalidURL`, which the configuration's reader has reported before.
  public init(_ settings: LedgerSettings, name: String = "countersign") throws {
    try self.init(url: settings.url, password: settings.password, caFile: settings.caFile)
    replyTimeout = settings.replyTimeout
    applicationName = name
  }
}

extension Topology {
  /// The topology of the configuration, the same for every role.
  public init(_ settings: Settings) {
    self.init(
      prefix: settings.rabbitmq.prefix, quorumInitialGroupSize: settings.rabbitmq.quorumInitialGroupSize)
  }
}

extension RetryPolicy {
  /// The jobs' policy of the configuration.
  public init(_ settings: WorkerSettings) {
    self.init(schedule: settings.retrySchedule, notFoundRetries: settings.notFoundRetries)
  }
}
