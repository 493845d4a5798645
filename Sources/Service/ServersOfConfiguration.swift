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
      settings.address, user: settings.user, password: settings.password, database: settings.database)
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

  /// The ledger, for one long reading: with patience, and with one process of the server at most.
  ///
  /// - Throws: `PostgresEndpoint.InvalidURL`, which the configuration's reader has reported before.
  public init(export settings: LedgerSettings, name: String) throws {
    try self.init(settings, name: name)
    // The first rows of a view may take a while, and so may a slow reader.
    (replyTimeout, idleInTransactionTimeout) = (.seconds(600), .seconds(600))
    sessionSettings = [("statement_timeout", "600000"), ("max_parallel_workers_per_gather", "0")]
  }
}

extension Topology {
  /// The topology of the configuration, the same for every role.
  public init(_ settings: Settings) {
    self.init(
      prefix: settings.rabbitmq.prefix, quorumInitialGroupSize: settings.rabbitmq.quorumInitialGroupSize)
  }
}

extension JobRetryPolicy {
  /// The jobs' policy of the configuration.
  public init(_ settings: WorkerSettings) {
    self.init(schedule: settings.retrySchedule, notFoundRetries: settings.notFoundRetries)
  }
}
