import AMQP
import AppStore
import Configuration
import Domain
public import EventLoop
import HTTP
import HTTP2
import HTTPClient
import HTTPServer
import Messaging
import Observability
import Redis
public import Service
import Store

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
  private let client: HTTP2Client
  /// What verifications take.
  let verification: PurchaseVerification.Dependencies
  let suspects: Suspects
  let recentEvents = RecentEvents()
  private var consumer: AMQPConsumer!
  private var server: HTTPServer?
  private let runs = RunningTasks()
  /// The runs that have a lease, which must not end before they do.
  private var holders: [ObjectIdentifier: JobRun] = [:]
  private var places: [Int64: [AppPlace]] = [:]
  private var placesRevision = -1
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
    let observe = context.observer(of: "publish")
    let losses = Losses()
    publisher = AMQPPublisher(
      AMQPEndpoint(settings.rabbitmq), name: "countersign worker publishes",
      onChange: { change in
        observe(change)
        if case .lost = change { losses.handler?() }
      }, declare: declare)
    var clientConfiguration = HTTPClient.Configuration()
    clientConfiguration.caFile = settings.appStore.caFile
    clientConfiguration.maxConnectionsPerHost = settings.appStore.maxConnections
    client = HTTP2Client(clientConfiguration, fallback: HTTPClient(clientConfiguration))
    var apiConfiguration = AppStoreServerAPI.Configuration()
    apiConfiguration.productionURL = settings.appStore.productionURL
    apiConfiguration.sandboxURL = settings.appStore.sandboxURL
    apiConfiguration.timeout = settings.appStore.timeout
    apiConfiguration.maxResponseBytes = settings.appStore.maxResponseBytes
    let roots = settings.appStore.rootFiles
    metrics = WorkerMetrics(context.metrics) { [runs] in Double(runs.count) }
    verification = PurchaseVerification.Dependencies(
      api: AppStoreServerAPI(apiConfiguration, client: client, now: context.now),
      verifier: SignedDataVerifier(roots: roots.isEmpty ? .apple : try TrustedRoots(files: roots)),
      budget: store, now: context.now, metrics: metrics)
    consumer = AMQPConsumer(
      AMQPEndpoint(settings.rabbitmq), name: "countersign worker consumes", queue: topology.jobs,
      prefetch: settings.worker.concurrency, onChange: context.observer(of: "consume"), declare: declare,
      handler: { [weak self] in self?.receive($0) })
    losses.handler = { [weak self] in self?.tellAgain() }
  }

  /// Who is to hear of a lost connection, which the publisher must be made without.
  @LoopActor
  private final class Losses {
    var handler: (@LoopActor () -> Void)?
  }

  public func start() async throws {
    let settings = context.settings.worker
    let health = HealthEndpoints(
      metrics: context.metrics,
      checks: [
        .redis(redis), ReadinessCheck("rabbitmq publish") { [publisher] in publisher.isReady },
        ReadinessCheck("rabbitmq consume") { [weak self] in self?.consumer.isReady ?? false },
        ReadinessCheck("not stopping") { [runs] in !runs.isClosed },
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
    let run: JobRun
    do throws(JobMessage.Unreadable) {
      run = try JobRun(received, by: self)
    } catch {
      return runs.start { [self] in
        switch error {
        case .malformed(let reason): await bury(received, reason)
        case .newer(let format): await putOff(received, format)
        }
      }
    }
    runs.start { await run.run() }
  }

  /// Where a publisher's transactions may be asked about.
  func places(of publisher: Publisher) -> [AppPlace] {
    if placesRevision != context.publishersRevision { (places, placesRevision) = ([:], context.publishersRevision) }
    if let known = places[publisher.id] { return known }
    let all = AppPlace.all(of: publisher, budgetScale: context.settings.appStore.budgetScale)
    places[publisher.id] = all
    return all
  }

  /// Puts a delivery into the dead-letter queue, with the reason in a header.
  func bury(_ received: AMQPConsumer.Received, _ reason: String) async {
    context.log.error(
      "a delivery is no job",
      ["reason": .string(reason), "messageId": .string(received.delivery.properties.messageID ?? "")])
    do {
      let message = JobMessage.dead(received.delivery, reason: reason, queue: topology.deadJobs)
      try await publisher.publishSurely(message)
      metrics.dead.count()
      received.acknowledge()
    } catch {
      context.log.error("a delivery could not be buried", ["cause": .failure(error)])
      await received.requeueLater()
    }
  }

  /// Delays a job that only a newer worker can run, until one takes it.
  ///
  /// It is never buried: it was accepted, its claim lasts until it is finalized, and workers that can run it come, at
  /// the latest with the next deployment. Until then a round costs one message in half a minute. It is no attempt.
  func putOff(_ received: AMQPConsumer.Received, _ format: Job.NewerFormat) async {
    metrics.retries.count(RetryCause.newerFormat.rawValue)
    context.log.warning(
      "put off",
      [
        "cause": .string(format.description),
        "messageId": .string(received.delivery.properties.messageID ?? ""),
      ])
    do {
      let message = JobMessage.putOff(received.delivery) { [topology] parks in
        // Soon at first: beside older workers there are newer ones.
        topology.jobDelay(.seconds([1, 5, 30][min(parks, 2)]))
      }
      try await publisher.publishSurely(message)
      received.acknowledge()
    } catch {
      context.log.error("the job could not be delayed", ["cause": .failure(error)])
      await received.requeueLater()
    }
  }

  /// Publishes again what the broker may have lost together with the connection.
  private func tellAgain() {
    let events = recentEvents.take()
    guard !events.isEmpty else { return }
    context.log.info("telling again what was confirmed last", ["events": .int(Int64(events.count))])
    runs.start { [self] in
      for event in events {
        do {
          try await publisher.publishSurely(EventMessage.message(event, exchange: topology.events))
        } catch {
          return context.log.error("an event could not be told again", ["cause": .failure(error)])
        }
      }
    }
  }

  // MARK: Leases

  /// Keeps the lease of a run from ending.
  func holds(_ run: JobRun) { holders[ObjectIdentifier(run)] = run }

  /// Lets the lease of a run end by itself.
  func letsGo(_ run: JobRun) { holders[ObjectIdentifier(run)] = nil }

  /// Renews every lease in hand. A lost one is not acted upon: the fencing number decides at the end.
  private func renewLeases() {
    let held = Array(holders.values)
    for start in stride(from: 0, to: held.count, by: Self.renewedAtOnce) {
      let some = Array(held[start..<min(start + Self.renewedAtOnce, held.count)])
      // At once: what is let go of meanwhile is refused by Redis, as the record of its lease says that it has ended.
      Task.immediate { @LoopActor in await renew(some) }
    }
  }

  /// A script of Redis' holds up everybody else's.
  private static let renewedAtOnce = 100

  private func renew(_ runs: [JobRun]) async {
    let settings = context.settings.worker
    do {
      let held = runs.map { (job: $0.job, lease: $0.lease) }
      let areOurs = try await store.renewLeases(held, for: settings.leaseDuration, sweepAfter: settings.sweepAfter)
      // A run that has ended meanwhile has not lost anything.
      for (run, isOurs) in zip(runs, areOurs) where !isOurs && holders[ObjectIdentifier(run)] != nil {
        context.log.warning("lease lost", ["transactionId": .string(run.job.transactionId)])
      }
    } catch {
      context.log.debug("renewal failed", ["cause": .failure(error)])
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
