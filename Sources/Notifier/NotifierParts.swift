import AMQP
import Configuration
import Domain
import EventLoop
import HTTP
import HTTPClient
import Ledger
import Messaging
import Observability
import Service
import Transport

/// What the services of a notifier share: its clients, and what works with several of them.
@LoopActor
struct NotifierParts {
  let context: RoleContext
  let topology: Topology
  let redis: RoleRedis
  let client: HTTPClient
  let ledger: RoleLedger
  let subscribers: EventSubscribers
  let publisher: AMQPPublisher
  let confirmed: ConfirmedEvents
  let outlet: EventOutlet
  let deliveries: DeliveryLedger
  let attemptLog: AttemptLog
  let recorder: DeliveryRecorder
  /// The runs of deliveries.
  let running = RunningTasks()
  /// The messages whose runs have not begun.
  let line = StartingLine()
  let metrics: NotifierMetrics

  /// Makes the parts. Nothing is started.
  ///
  /// - Throws: `PostgresEndpoint.InvalidURL` without a usable `ledger.url`.
  init(_ context: RoleContext) throws {
    self.context = context
    topology = Topology(context.settings)
    redis = RoleRedis(context, isNeeded: false)
    client = HTTPClient(HTTPClientConfiguration(context.settings.notifier))
    ledger = try RoleLedger(context, isNeeded: false)
    subscribers = EventSubscribers(context, ledger.postgres)
    publisher = AMQPPublisher(
      { AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign notifier publishes",
      onChange: context.observer(of: "publish"), declare: context.declaring(topology))
    confirmed = ConfirmedEvents(context, ledger.postgres)
    outlet = context.makeOutlet(publisher, subscribers, settle: { [confirmed] in confirmed.add($0) })
    deliveries = DeliveryLedger(ledger.postgres)
    attemptLog = AttemptLog(AttemptLog.Dependencies(context, deliveries))
    let failures = RecordFailures(context.log) { [attemptLog] in attemptLog.keepSoon() }
    recorder = DeliveryRecorder(ledger.postgres) { failures.add($0) }
    metrics = NotifierMetrics(
      context.metrics, inFlight: { [running] in Double(running.count) },
      waiting: { [line] in Double(line.count) }, rests: { [line] in Double(line.rests) },
      unrecorded: { [recorder] in Double(recorder.waiting) })
    metrics.deadMessages.set(0, topology.deadDeliveries)
  }
}

extension HTTPClientConfiguration {
  /// The HTTP client's settings for webhooks: only to addresses that the platform team allows, and as many connections
  /// as the lanes ask for.
  fileprivate init(_ settings: NotifierSettings) {
    self.init()
    caFile = settings.caFile
    allowsPlainHTTP = settings.allowsInsecureEndpoints
    connectTimeout = settings.connectTimeout
    awaitsMultiplexing = false
    // A hanging endpoint must not hold up other endpoints on the same host.
    maxConnectionsPerHost = 0
    userAgent = "countersign-notifier"
    let addresses = settings.addresses
    allowsAddress = { bytes in NetworkAddress(bytes: bytes).map(addresses.allows) ?? false }
  }
}
