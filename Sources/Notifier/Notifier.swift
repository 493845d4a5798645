import AMQP
import Configuration
public import EventLoop
public import Fleet
import HTTPClient
import HTTPServer
import Observability
import Purchases

/// The role that delivers events to the publishers' webhook endpoints.
@LoopActor
public final class Notifier: Role {
  let context: RoleContext
  let publisher: AMQPPublisher
  let topology: Topology
  let policy: RetryPolicy
  let client: HTTPClient
  let metrics: NotifierMetrics

  private var consumer: AMQPConsumer!
  private var server: HTTPServer?
  private let runs = RunningTasks()

  /// Creates a notifier that is not started.
  public init(_ context: RoleContext) {
    let settings = context.settings
    self.context = context
    let topology = Topology(settings)
    self.topology = topology
    policy = RetryPolicy(settings.notifier)
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
    server = try health.serve(at: context.settings.notifier.listen, context.log)
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

  private func receive(_ received: AMQPConsumer.Received) {
    if received.delivery.isRedelivered {
      metrics.redeliveries.count()
      context.log.info("delivered again", ["messageId": .string(received.delivery.properties.messageID ?? "")])
    }
    let run = DeliveryRun(notifier: self, received: received)
    runs.start { await run.run() }
  }
}
