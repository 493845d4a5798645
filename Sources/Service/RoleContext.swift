public import AMQP
public import Configuration
public import Domain
public import EventLoop
public import Observability
public import Redis

/// What every role is made with.
@LoopActor
public final class RoleContext {
  public let settings: Settings
  public let log: Log
  public let metrics: Metrics
  /// The publishers of the last good reading.
  public var publishers: Publishers { didSet { publishersRevision += 1 } }
  /// Grows with each reading of the publishers: what was made of them before is stale.
  public private(set) var publishersRevision = 0
  /// The time that the fleet goes by.
  public let clock: FleetClock
  /// What a test asks for.
  public let faults: TestFaults
  /// Tells milliseconds since 1970.
  public var now: @Sendable () -> Int64 { clock.now }

  private let connectionUp: Gauge
  private let connectionLosses: Counter

  /// Creates the context of one role.
  public init(role: String, settings: Settings, publishers: Publishers, faults: TestFaults = TestFaults()) {
    self.settings = settings
    self.publishers = publishers
    self.faults = faults
    let offset = faults.clockOffsetMilliseconds
    clock = FleetClock { unixMilliseconds() + offset }
    log = Log(level: Log.Level(rawValue: settings.logLevel.rawValue) ?? .info, ["role": .string(role)])
    metrics = Metrics()
    connectionUp = metrics.gauge(
      "countersign_connection_up", "Whether a connection is usable.", labels: ["connection"])
    connectionLosses = metrics.counter(
      "countersign_connection_losses_total", "Lost or failed connections.", labels: ["connection"])
    metrics.gauge("countersign_process_resident_memory_bytes", "Resident memory.", read: residentBytes)
    metrics.counter("countersign_process_cpu_seconds_total", "Processor time used.", read: processorSeconds)
  }

  /// Returns what logs and counts the changes of a broker connection.
  public func observer(of connection: String) -> @LoopActor (AMQPSession.Change) -> Void {
    connectionUp.set(0, connection)
    return { [self] change in
      switch change {
      case .connected:
        connectionUp.set(1, connection)
        log.info("connected", ["connection": .string(connection)])
      case .blocked(let isBlocked):
        connectionUp.set(isBlocked ? 0 : 1, connection)
        log.warning("broker alarm", ["connection": .string(connection), "blocked": .bool(isBlocked)])
      case .lost(let error, let delay): lost(connection, error, delay)
      }
    }
  }

  /// Returns a Redis client whose changes are logged and counted.
  public func makeRedis() -> RedisClient {
    connectionUp.set(0, "redis")
    return RedisClient(RedisEndpoint(settings.redis)) { [self] change in
      switch change {
      case .connected:
        connectionUp.set(1, "redis")
        log.info("connected", ["connection": "redis"])
      case .lost(let error, let delay): lost("redis", error, delay)
      }
    }
  }

  private func lost(_ connection: String, _ error: any Error, _ delay: Duration) {
    connectionUp.set(0, connection)
    connectionLosses.count(connection)
    log.warning(
      "connection lost",
      [
        "connection": .string(connection), "cause": .failure(error),
        "retryInMilliseconds": .int(Int64(delay.wholeMilliseconds)),
      ])
  }
}
