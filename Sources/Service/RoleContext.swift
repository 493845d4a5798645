public import Configuration
public import Crypto
public import Domain
public import EventLoop
public import Observability

/// The settings and parts that every role shares.
@LoopActor
public final class RoleContext {
  /// The name of the role.
  public let role: String
  public let settings: Settings
  public let log: Log
  public let metrics: Metrics
  /// The publishers of the last good reading.
  public var publishers: Publishers { didSet { publishersRevision += 1 } }
  /// Grows with each reading of the publishers. A copy made from an older reading is stale.
  public private(set) var publishersRevision = 0
  /// The keys of the secrets in the ledger, as of the last reading of `ledger.keysFile`.
  public var secretKeys = SealingKeys()
  /// The fleet's time.
  public let clock: FleetClock
  /// The faults that a test asks for.
  public let faults: TestFaults
  /// Tells milliseconds since 1970.
  public var now: @Sendable () -> Int64 { clock.now }

  let connectionUp: Gauge
  let connectionLosses: Counter
  let refusedWrites: Gauge
  let redisEvicts: Gauge

  /// Creates the context of one role.
  public init(role: String, settings: Settings, publishers: Publishers, faults: TestFaults = TestFaults()) {
    self.role = role
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
    refusedWrites = metrics.gauge(
      "countersign_redis_writes_refused", "Whether Redis refuses writes with an error.", labels: ["error"])
    redisEvicts = metrics.gauge(
      "countersign_redis_evicts", "Whether Redis deletes keys when its memory is full (maxmemory-policy).")
    metrics.gauge("countersign_process_resident_memory_bytes", "Resident memory.", read: residentBytes)
    metrics.counter("countersign_process_cpu_seconds_total", "Processor time used.", read: processorSeconds)
    metrics.counter("countersign_log_lines_dropped_total", "Log lines that nobody took.") { Double(Log.droppedLines) }
  }
}
