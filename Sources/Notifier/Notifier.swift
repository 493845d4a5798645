import AMQP
public import Configuration
public import EventLoop
public import Fleet
import HTTPClient
import HTTPServer
import Observability
import Purchases

/// What a notifier counts.
@LoopActor
final class NotifierMetrics {
  let attempts: Counter
  let duration: Histogram
  let dead: Counter

  init(_ metrics: Metrics, inFlight: @escaping @LoopActor () -> Double) {
    metrics.gauge("countersign_deliveries_in_flight", "Events that are being delivered now.", read: inFlight)
    attempts = metrics.counter(
      "countersign_webhook_attempts_total", "Attempts by what they came to.", labels: ["outcome"])
    duration = metrics.histogram("countersign_webhook_attempt_duration_seconds", "Time of one attempt.")
    dead = metrics.counter("countersign_dead_events_total", "Messages that are no events.")
  }
}

/// The role that delivers events to the publishers' webhook endpoints.
@LoopActor
public final class Notifier: Role {
  let context: RoleContext
  let publisher: AMQPPublisher
  let topology: Topology
  let policy: RetryPolicy
  let client: HTTPClient
  private(set) var metrics: NotifierMetrics!

  private var consumer: AMQPConsumer!
  private var server: HTTPServer?
  private let runs = RunningTasks()

  /// Creates a notifier that is not started.
  public init(_ context: RoleContext) {
    let settings = context.settings
    self.context = context
    let topology = Topology(settings)
    self.topology = topology
    policy = RetryPolicy(schedule: settings.notifier.retrySchedule, notFoundRetries: 0)
    var configuration = HTTPClient.Configuration()
    configuration.caFile = settings.notifier.caFile
    configuration.allowsPlainHTTP = settings.notifier.allowsInsecureEndpoints
    configuration.awaitsMultiplexing = false
    configuration.maxConnectionsPerHost = 20
    configuration.userAgent = "countersign-notifier"
    client = HTTPClient(configuration)
    let declare: @LoopActor (AMQPChannel) async throws -> Void = { try await topology.declare(on: $0) }
    publisher = AMQPPublisher(
      AMQPEndpoint(settings.rabbitmq), name: "countersign notifier publishes",
      onChange: context.observer(of: "publish"), declare: declare)
    metrics = NotifierMetrics(context.metrics) { [runs] in Double(runs.count) }
    consumer = AMQPConsumer(
      AMQPEndpoint(settings.rabbitmq), name: "countersign notifier consumes", queue: topology.deliveries,
      prefetch: settings.notifier.concurrency, onChange: context.observer(of: "consume"), declare: declare,
      handler: { [weak self] in self?.receive($0) })
  }

  public func start() async throws {
    let health = HealthEndpoints(
      metrics: context.metrics,
      checks: [
        ("rabbitmq publish", { [publisher] in publisher.isReady }),
        ("rabbitmq consume", { [weak self] in self?.consumer.isReady ?? false }),
        ("not stopping", { [runs] in !runs.isClosed }),
      ])
    var configuration = HTTPServer.Configuration()
    configuration.host = context.settings.notifier.listen.host
    configuration.port = context.settings.notifier.listen.port
    server = try HTTPServer(configuration) { health.answer($0) ?? .text(404, "not found\n") }
    context.log.info("listening", ["address": .string("\(configuration.host):\(server?.port ?? 0)")])
    publisher.start()
    consumer.start()
  }

  public func stop(grace: Duration) async {
    runs.close()
    await consumer.cancel()
    await runs.finish(within: grace)
    await consumer.stop()
    await publisher.stop()
    client.close()
    await server?.close()
  }

  public func reload(_ publishers: Publishers) { context.publishers = publishers }

  private func receive(_ received: AMQPConsumer.Received) {
    guard !runs.isClosed else { return received.requeue() }
    let run = DeliveryRun(notifier: self, received: received)
    runs.start { await run.run() }
  }
}
