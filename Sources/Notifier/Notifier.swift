import AMQP
import Configuration
import Domain
public import EventLoop
import HTTP
import HTTPClient
import HTTPServer
import Ledger
import Messaging
import Observability
import Postgres
import Redis
public import Service
import Store
import Transport

/// The role that delivers events to the publishers' webhook endpoints.
@LoopActor
public final class Notifier: Role {
  let context: RoleContext
  let publisher: AMQPPublisher
  let topology: Topology
  let client: HTTPClient
  let metrics: NotifierMetrics
  let pacing: DeliveryPacing
  let ledger: PostgresClient
  let endpoints: WebhookEndpointStore
  let deliveries: DeliveryLedger
  let notifications: NotificationStore
  let recorder: DeliveryRecorder
  let directory: EndpointDirectory
  let lanes: Lanes
  let underWay: AttemptsUnderWay
  let suspects = Suspects()
  let begun: BegunRuns
  let outlet: EventOutlet

  /// The number of deliveries that the notifier holds for the last second before their time.
  var almostDue = 0

  /// The attempts that have ended and are not recorded yet. A copy of their message must not make them again.
  var unrecorded: Set<UnrecordedAttempt> = []

  private let redis: RedisClient
  private let subscribers: EventSubscribers
  private let upkeep: Upkeep
  private let secretKeys: SecretKeysWatch
  private var consumer: AMQPConsumer!
  private var server: HTTPServer?
  private let runs = RunningTasks()

  /// Creates a notifier without starting it.
  ///
  /// - Throws: `PostgresEndpoint.InvalidURL`.
  public init(_ context: RoleContext) throws {
    let settings = context.settings
    self.context = context
    let topology = Topology(settings)
    self.topology = topology
    client = HTTPClient(HTTPClientConfiguration(settings.notifier))
    redis = context.makeRedis()
    pacing = DeliveryPacing(redis, prefix: settings.redis.prefix)
    begun = BegunRuns(redis, prefix: settings.redis.prefix)
    let ledger = try context.makeLedger()
    let endpoints = context.makeEndpointStore(ledger)
    let deliveries = DeliveryLedger(ledger)
    self.ledger = ledger
    secretKeys = SecretKeysWatch(context, ledger)
    self.endpoints = endpoints
    self.deliveries = deliveries
    notifications = NotificationStore(ledger)
    let failures = RecordFailures(context.log)
    let recorder = DeliveryRecorder(ledger) { failures.add($0) }
    self.recorder = recorder
    directory = EndpointDirectory { try await endpoints.endpoints($0, since: $1, configured: $2) }
    lanes = Lanes(concurrency: settings.notifier.concurrency)
    underWay = AttemptsUnderWay(pacing)
    let declare = context.declaring(topology)
    publisher = AMQPPublisher(
      { AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign notifier publishes",
      onChange: context.observer(of: "publish"), declare: declare)
    let subscribers = EventSubscribers(context, ledger)
    self.subscribers = subscribers
    outlet = EventOutlet(
      publisher, queue: topology.deliveries, subscribers, ledger, context.log,
      onReduced: EventOutlet.reducedEvents(context.metrics, context.doors.topics))
    metrics = NotifierMetrics(
      context.metrics, inFlight: { [runs] in Double(runs.count) }, unrecorded: { Double(recorder.waiting) })
    metrics.deadMessages.set(0, topology.deadDeliveries)
    upkeep = Upkeep(context, deliveries, publisher, topology, metrics)
    failures.onMissingPartition = { [upkeep] in upkeep.keepLogSoon() }
    consumer = AMQPConsumer(
      { AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign notifier consumes", queue: topology.deliveries,
      prefetch: settings.notifier.concurrency, onChange: context.observer(of: "consume"), declare: declare,
      handler: { [weak self] in self?.receive($0) })
  }

  public func start() async throws {
    // Without Redis or the ledger the notifier still delivers to the endpoints that it knows, until as many records
    // wait for the ledger as it may hold deliveries. Then it takes no more.
    let most = context.settings.notifier.concurrency
    let health = HealthEndpoints(
      metrics: context.metrics,
      checks: [
        .redis(redis, isNeeded: false), .ledger(ledger, isNeeded: false),
        secretKeys.check(isNeeded: true, namesKeys: true),
        ReadinessCheck("records") { [recorder] in
          recorder.waiting < most ? nil : "\(recorder.waiting) wait for the ledger"
        }, ReadinessCheck("rabbitmq publish") { [publisher] in publisher.trouble },
        ReadinessCheck("rabbitmq consume") { [weak self] in self?.consumer.trouble },
        ReadinessCheck("not stopping") { [runs] in !runs.isClosed },
      ])
    server = try health.serve(at: context.settings.notifier.listen, context)
    redis.start()
    ledger.start()
    underWay.start()
    upkeep.start()
    publisher.start()
    subscribers.start()
    try await SchemaWait(ledger, context.log).start()
    await secretKeys.start()
    consumer.start()
  }

  public func stop(grace: Duration) async {
    runs.close()
    secretKeys.stop()
    await upkeep.stop()
    await consumer.cancel()
    await runs.finish(within: grace)
    await consumer.stop()
    await publisher.stop()
    await subscribers.stop()
    underWay.stop()
    recorder.close()
    await ledger.stop()
    await redis.stop()
    client.close()
    await server?.close()
  }

  private func receive(_ received: AMQPConsumer.Received) {
    if received.delivery.isRedelivered {
      metrics.redeliveries.count()
      context.log.info("delivered again", ["messageId": .string(received.delivery.properties.messageID ?? "")])
    }
    let run = DeliveryRun(notifier: self, received: received)
    runs.start { await run.run() }
  }

  /// Puts a delivery into a delay queue, where it waits for its time.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Returns: whether the broker has it.
  func enqueue(_ delivery: Delivery, now: Int64, _ log: Log) async -> Bool {
    var queue = topology.deliveries
    if case .tier(let tier) = DeliveryDelay(due: delivery.due, now: now) { queue = topology.deliveryDelay(tier) }
    return await publish(delivery.message(queue: queue), log)
  }

  /// Publishes a delivery apart for each of some endpoints, for at once.
  ///
  /// - Returns: whether the broker has all of them.
  func spread(_ delivery: Delivery, to endpoints: [String], _ log: Log) async -> Bool {
    for start in stride(from: 0, to: endpoints.count, by: 100) {
      let copies = endpoints[start..<min(start + 100, endpoints.count)].map { endpoint in
        var copy = delivery
        copy.endpointId = endpoint
        copy.due = nil
        copy.isPlanned = false
        copy.parks = 0
        copy.misses = 0
        return copy.message(queue: topology.deliveries)
      }
      let publishing = copies.map { copy in Task { @LoopActor in await publish(copy, log) } }
      var isSpread = true
      for task in publishing where await !task.value { isSpread = false }
      guard isSpread else { return false }
    }
    return true
  }

  /// Puts a message into the queue of the dead, where it waits for a person, and counts it.
  ///
  /// - Parameter message: a message to the queue of the dead; its header for the reason says what happened.
  /// - Returns: whether the broker has it.
  func bury(_ message: AMQPMessage, _ reason: BurialReason, _ log: Log) async -> Bool {
    let text = message.headers[JobMessage.reasonHeader]?.string ?? ""
    log.error("delivery buried", ["reason": .string(reason.rawValue), "cause": .string(text)])
    guard await publish(message, log) else { return false }
    metrics.dead.count(reason.rawValue)
    return true
  }

  /// Publishes until the broker confirms.
  ///
  /// - Returns: whether the broker confirmed at last.
  func publish(_ message: AMQPMessage, _ log: Log) async -> Bool {
    do {
      try await publisher.publishSurely(message)
      return true
    } catch {
      log.error(
        "the delivery could not be published", ["queue": .string(message.routingKey), "cause": .failure(error)])
      return false
    }
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
