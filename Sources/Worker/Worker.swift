import AMQP
import AppStore
import Configuration
public import EventLoop
public import Fleet
import HTTPClient
import HTTPServer
import Observability
import Purchases
import Redis

/// The role that runs jobs: lease, Apple, decision, status, event, acknowledgement.
@LoopActor
public final class Worker: Role {
  let context: RoleContext
  let store: PurchaseStore
  let publisher: AMQPPublisher
  let topology: Topology
  let policy: RetryPolicy
  let metrics: WorkerMetrics

  private let redis: RedisClient
  private let client: HTTPClient
  private let api: AppStoreServerAPI
  private let verifier: SignedDataVerifier
  let suspects: Suspects
  private var consumer: AMQPConsumer!
  private var server: HTTPServer?
  private let runs = RunningTasks()
  private var leases: [String: (job: Job, lease: Lease)] = [:]
  private var renewal: LoopTimer?
  private var sweepTimer: LoopTimer?
  private var sweeping: Task<Void, Never>?

  /// Creates a worker that is not started.
  ///
  /// - Throws: `TrustedRoots.Unreadable` when a configured root is no certificate.
  public init(_ context: RoleContext) throws {
    let settings = context.settings
    self.context = context
    redis = context.makeRedis()
    store = PurchaseStore(redis, prefix: settings.redis.prefix)
    policy = RetryPolicy(settings.worker)
    suspects = Suspects()
    let topology = Topology(settings)
    self.topology = topology
    let declare: @LoopActor (AMQPChannel) async throws -> Void = { try await topology.declare(on: $0) }
    publisher = AMQPPublisher(
      AMQPEndpoint(settings.rabbitmq), name: "countersign worker publishes", onChange: context.observer(of: "publish"),
      declare: declare)
    var clientConfiguration = HTTPClient.Configuration()
    clientConfiguration.caFile = settings.appStore.caFile
    clientConfiguration.maxConnectionsPerHost = settings.appStore.maxConnections
    client = HTTPClient(clientConfiguration)
    var apiConfiguration = AppStoreServerAPI.Configuration()
    apiConfiguration.productionURL = settings.appStore.productionURL
    apiConfiguration.sandboxURL = settings.appStore.sandboxURL
    apiConfiguration.timeout = settings.appStore.timeout
    apiConfiguration.maxResponseBytes = settings.appStore.maxResponseBytes
    api = AppStoreServerAPI(apiConfiguration, client: client, now: context.now)
    let roots = settings.appStore.rootFiles
    verifier = SignedDataVerifier(roots: roots.isEmpty ? .apple : try TrustedRoots(files: roots))

    metrics = WorkerMetrics(context.metrics) { [runs] in Double(runs.count) }
    consumer = AMQPConsumer(
      AMQPEndpoint(settings.rabbitmq), name: "countersign worker consumes", queue: topology.jobs,
      prefetch: settings.worker.concurrency, onChange: context.observer(of: "consume"), declare: declare,
      handler: { [weak self] in self?.receive($0) })
  }

  public func start() async throws {
    let settings = context.settings.worker
    let health = HealthEndpoints(
      metrics: context.metrics,
      checks: [
        ("redis", { [store] in store.isReady }), ("rabbitmq publish", { [publisher] in publisher.isReady }),
        ("rabbitmq consume", { [weak self] in self?.consumer.isReady ?? false }),
        ("not stopping", { [runs] in !runs.isClosed }),
      ])
    server = try health.serve(at: settings.listen, context.log)
    redis.start()
    publisher.start()
    consumer.start()
    let renewal = LoopTimer { [weak self] in self?.renewLeases() }
    renewal.start(after: settings.leaseDuration / 3, every: settings.leaseDuration / 3)
    self.renewal = renewal
    let sweepTimer = LoopTimer { [weak self] in self?.sweep() }
    sweepTimer.start(after: settings.sweepInterval * Double.random(in: 0.5...1), every: settings.sweepInterval)
    self.sweepTimer = sweepTimer
  }

  /// Stops to consume, finishes what runs within `grace`, hands back the rest, and closes the channels properly, so that
  /// the broker has taken every acknowledgement.
  public func stop(grace: Duration) async {
    runs.close()
    sweepTimer?.close()
    sweepTimer = nil
    await consumer.cancel()
    let cancelled = await runs.finish(within: grace)
    if cancelled > 0 { context.log.warning("the grace period was too short", ["cancelled": .int(Int64(cancelled))]) }
    sweeping?.cancel()
    await consumer.stop()
    await publisher.stop()
    renewal?.close()
    renewal = nil
    client.close()
    await redis.stop()
    await server?.close()
  }

  // MARK: Runs

  private func receive(_ received: AMQPConsumer.Received) {
    if received.delivery.isRedelivered {
      metrics.redeliveries.count()
      context.log.info("delivered again", ["messageId": .string(received.delivery.properties.messageID ?? "")])
    }
    let run = JobRun(worker: self, received: received)
    runs.start { await run.run() }
  }

  func verification(_ log: Log) -> PurchaseVerification {
    PurchaseVerification(
      api: api, verifier: verifier, store: store, metrics: metrics, settings: context.settings.appStore,
      now: context.now, log: log)
  }

  // MARK: Leases

  func holds(_ job: Job, _ lease: Lease) { leases["\(job.publisherId)/\(job.transactionId)"] = (job, lease) }

  func letsGo(_ job: Job, _ lease: Lease) {
    let key = "\(job.publisherId)/\(job.transactionId)"
    if leases[key]?.lease == lease { leases[key] = nil }
  }

  /// Renews every lease in hand. A lost one is not acted upon: the fencing number decides at the end.
  private func renewLeases() {
    for (key, (job, lease)) in leases {
      Task { @LoopActor in
        // Let go in the meantime: it must not be held on to.
        guard leases[key]?.lease == lease else { return }
        do {
          let settings = context.settings.worker
          let isOurs = try await store.renewLease(
            job, lease, for: settings.leaseDuration, sweepAfter: settings.sweepAfter)
          if !isOurs { context.log.warning("lease lost", ["transactionId": .string(job.transactionId)]) }
        } catch {
          context.log.debug("renewal failed", ["cause": .failure(error)])
        }
      }
    }
  }

  private func sweep() {
    guard sweeping == nil, !runs.isClosed else { return }
    let sweep = Sweep(
      store: store, publisher: publisher, topology: topology, interval: context.settings.worker.sweepAfter,
      log: context.log)
    sweeping = Task { @LoopActor in
      metrics.swept.add(Double(await sweep.run()))
      sweeping = nil
    }
  }
}
