public import Configuration
public import Crypto
public import Domain
public import EventLoop
public import Messaging
public import Observability

/// The settings and parts that every role shares.
@LoopActor
public final class RoleContext {
  /// The name of the role.
  public let role: String
  /// The settings of the last good reading. Logins and addresses of servers change; the rest is that of the start.
  public private(set) var settings: Settings
  /// The version of this build, with the commit if the build knows it.
  public let version: String
  /// The doors of this build.
  public let doors: DoorCatalog
  public let log: Log
  public let metrics: Metrics
  /// Records the spans of traces that are sampled.
  public let tracer: Tracer
  /// The publishers of the last good reading.
  public private(set) var publishers: Publishers {
    didSet {
      publishersRevision += 1
      countBroken()
    }
  }
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

  /// Takes a new reading: the publishers, and how to reach and log in to the servers. What else the configuration file
  /// says needs a new start.
  public func use(_ settings: Settings, _ publishers: Publishers) {
    self.settings.rabbitmq.take(loginOf: settings.rabbitmq)
    self.settings.redis.take(loginOf: settings.redis)
    self.settings.ledger.take(loginOf: settings.ledger)
    self.publishers = publishers
  }

  /// Sees how the first try of each connection ended.
  public let starting = StartWatch()
  /// Watches the loop, once it is started.
  public let loopWatch: LoopWatch

  /// Whether the role uses what the files of its configuration say.
  public let configurationCurrent: Gauge
  /// Changed configurations, by what became of them.
  public let configurationReloads: Counter

  /// Publishers' files that do not count.
  private let publishersBroken: Gauge

  /// A line of `/readyz` about publishers' files with mistakes. The role is ready for the others.
  public var publisherReadiness: [ReadinessCheck] {
    [ReadinessCheck("publishers", isNeeded: false) { [weak self] in self?.publishers.trouble }]
  }

  private func countBroken() {
    let absent = publishers.broken.count { !$0.isKept }
    publishersBroken.set(Double(absent), "absent")
    publishersBroken.set(Double(publishers.broken.count - absent), "kept")
  }

  /// The metrics of the role's HTTP server.
  public let serverMetrics: HTTPServerMetrics

  let connectionUp: Gauge
  let connectionLosses: Counter
  let refusedWrites: Gauge
  let redisEvicts: Gauge

  /// Whether the role has its one way out for events.
  var hasOutlet = false

  /// The queues of events and deliveries, as this process uses them.
  public private(set) lazy var deliveryQueues = DeliveryQueues(Topology(settings))

  /// Creates the context of one role.
  public init(
    role: String, version: String = "", settings: Settings, publishers: Publishers, doors: DoorCatalog,
    faults: TestFaults = TestFaults()
  ) {
    (self.role, self.version) = (role, version)
    self.settings = settings
    self.publishers = publishers
    self.doors = doors
    self.faults = faults
    let offset = faults.clockOffsetMilliseconds
    clock = FleetClock { unixMilliseconds() + offset }
    log = Log(
      level: Log.Level(rawValue: settings.logLevel.rawValue) ?? .info,
      customers: Log.Customers(rawValue: settings.logCustomers.rawValue) ?? .hash, ["role": .string(role)])
    metrics = Metrics()
    tracer = Tracer(ratio: settings.traces.url == nil ? nil : settings.traces.ratio, metrics)
    loopWatch = LoopWatch(metrics, log)
    configurationCurrent = metrics.gauge(
      "countersign_configuration_current", "1 while the role uses the present files of its configuration.")
    configurationCurrent.set(1)
    configurationReloads = metrics.counter(
      "countersign_configuration_reloads_total", "Changed configurations that were used or refused.",
      labels: ["outcome"], known: [["used"], ["refused"]])
    publishersBroken = metrics.gauge(
      "countersign_publishers_broken", "Publishers' files with a mistake.",
      labels: ["state"])
    connectionUp = metrics.gauge(
      "countersign_connection_up", "1 while the connection is usable.", labels: ["connection"])
    connectionLosses = metrics.counter(
      "countersign_connection_losses_total", "How often the connection was lost, or could not be opened.",
      labels: ["connection"])
    refusedWrites = metrics.gauge(
      "countersign_redis_writes_refused", "1 while Redis answers writes with this error.", labels: ["error"])
    redisEvicts = metrics.gauge(
      "countersign_redis_evicts", "1 while Redis may delete keys when its memory is full.")
    metrics.gauge("countersign_process_resident_memory_bytes", "Resident memory of the process.", read: residentBytes)
    metrics.counter("countersign_process_cpu_seconds_total", "Processor time of the process.", read: processorSeconds)
    metrics.counter(
      "countersign_log_lines_dropped_total", "Log lines that were dropped, because nothing read standard error."
    ) { Double(Log.droppedLines) }
    serverMetrics = HTTPServerMetrics(metrics)
    countBroken()
  }
}
