import AMQP
import AppStore
import Configuration
import Domain
public import EventLoop
import Formats
import HTTP
import HTTP2
import HTTPClient
import HTTPServer
import Ledger
import Messaging
import Observability
import Postgres
import Redis
public import Service
import Store

/// The role that runs jobs: lease, Apple, commit, events, acknowledgement.
@LoopActor
public final class Worker: Role {
  private let context: RoleContext
  private let store: PurchaseStore
  private let publisher: AMQPPublisher
  private let topology: Topology
  private let metrics: WorkerMetrics

  private let redis: RedisClient
  private let ledger: PostgresClient
  private let commits: Commits
  private let client: HTTP2Client
  private var dependencies: JobRun.Dependencies!
  private var consumer: AMQPConsumer!
  private var notifications: NotificationRuns!
  private var notificationConsumer: AMQPConsumer!
  private var timers: TimerRuns!
  private var histories: HistoryRuns!
  private var refunds: RefundRuns!
  private var upkeep: Upkeep!
  private let subscribers: EventSubscribers
  private let owed: OwedEventRuns
  private var server: HTTPServer?
  private let runs = RunningTasks()
  private var places: [Int64: [AppPlace]] = [:]
  private var placesRevision = -1
  private var renewal: LoopTimer?
  private var outboxTimer: LoopTimer?
  /// Whether this build can work with the ledger's schema.
  private var hasSchema = false
  private var publishing: Task<Void, Never>?

  /// Creates a worker that is not started.
  ///
  /// - Throws: `TrustedRoots.Unreadable` when a configured root is no certificate; `PostgresEndpoint.InvalidURL`
  ///   without a usable `ledger.url`.
  public init(_ context: RoleContext) throws {
    let settings = context.settings
    self.context = context
    redis = context.makeRedis()
    store = PurchaseStore(redis, prefix: settings.redis.prefix)
    let topology = Topology(settings)
    self.topology = topology
    let declare = context.declaring(topology)
    let observe = context.observer(of: "publish")
    let losses = LateHandler()
    publisher = AMQPPublisher(
      { AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign worker publishes",
      onChange: { change in
        observe(change)
        if case .lost = change { losses.handler?() }
      }, declare: declare)
    let apple = HTTPClientConfiguration(settings.appStore)
    client = HTTP2Client(apple, fallback: HTTPClient(apple))
    let roots = settings.appStore.rootFiles
    let metrics = WorkerMetrics(context.metrics, topics: context.doors.topics) { [runs] in Double(runs.count) }
    metrics.deadMessages.set(0, topology.deadJobs)
    self.metrics = metrics
    let pausing = LateHandler()
    ledger = try context.makeLedger { pausing.handler?() }
    let subscribers = EventSubscribers(context, ledger)
    self.subscribers = subscribers
    owed = OwedEventRuns(context, ledger, subscribers)
    commits = Commits(
      ledger,
      Commits.Settings(
        connections: settings.ledger.connections, now: { context.now() },
        configured: { Set(context.publishers.all.lazy.filter { !$0.webhooks.isEmpty }.map(\.id)) },
        onFailure: { error in
          metrics.commitFailures.count()
          context.log.ledgerFailure("a commit failed", error)
        },
        onCommit: { metrics.commits.observe(Double($0)) }))
    let verification = PurchaseVerification.Dependencies(
      api: AppStoreServerAPI(AppStoreServerAPI.Configuration(settings.appStore), client: client, now: context.now),
      verifier: SignedDataVerifier(roots: roots.isEmpty ? .apple : try TrustedRoots(files: roots)),
      budget: store, now: context.now, metrics: metrics)
    dependencies = JobRun.Dependencies(
      settings: settings.worker, topology: topology, store: store, ledger: commits, broker: publisher,
      doors: context.doors, publishers: { context.publishers }, places: { [unowned self] in places(of: $0) },
      verify: { run in
        await PurchaseVerification(
          of: run.job, attempt: run.attempt, at: run.places, route: run.lease.route, grant: run.lease.call,
          with: verification, run.log)?.finding()
      },
      clock: context.clock, log: context.log, metrics: metrics,
      subscribers: EventOutlet.Subscribers(subscribers), faults: context.faults)
    consumer = AMQPConsumer(
      { AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign worker consumes", queue: topology.jobs,
      prefetch: settings.worker.concurrency, onChange: context.observer(of: "consume"), declare: declare,
      handler: { [weak self] in self?.receive($0) })
    let notificationStore = NotificationStore(ledger)
    let begun = BegunRuns(redis, prefix: settings.redis.prefix)
    let rows = SuspectRows(dependencies.suspects, begun, context)
    notifications = NotificationRuns(
      context, notificationStore, Timers(ledger), commits, dependencies.outlet, verification.verifier,
      dependencies.suspects, begun)
    notificationConsumer = AMQPConsumer(
      { AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign worker notifications",
      queue: topology.notifications,
      prefetch: Self.notificationsAtOnce, onChange: context.observer(of: "notifications"), declare: declare,
      handler: { [weak self] in self?.notifications.take($0) })
    timers = TimerRuns(context, Timers(ledger), commits, dependencies.outlet, verification, rows) { [unowned self] in
      places(of: $0)
    }
    histories = HistoryRuns(
      context, NotificationSources(ledger), notificationStore, notifications, verification, rows
    ) { [unowned self] in places(of: $0) }
    refunds = RefundRuns(
      context, RefundRequests(ledger), PurchaseReader(ledger), dependencies.outlet, verification, rows
    ) { [unowned self] in places(of: $0) }
    upkeep = Upkeep(context, store, publisher, topology, ledger, dependencies.outlet, metrics)
    // With nothing in hand, a worker for which no job comes is one that the broker has lost sight of.
    upkeep.jobsWait = { [weak self] in
      guard let self, runs.count == 0 else { return }
      consumer.reopenIfIdle(for: .seconds(60))
    }
    notifications.onRefund = { [weak self] in self?.refunds.hint() }
    // Without Redis no look can ask Apple. But what ends by our own clock ends all the same, and is told.
    timers.isReady = { [weak self] in self.map { $0.ledger.isReady && $0.hasSchema } ?? false }
    histories.isReady = { [weak self] in self.map { $0.ledger.isReady && $0.hasSchema && $0.store.isReady } ?? false }
    refunds.isReady = { [weak self] in self.map { $0.ledger.isReady && $0.hasSchema } ?? false }
    context.metrics.gauge(
      "countersign_apple_refused_apps", "Apps whose key Apple refuses, as this worker knows."
    ) { [weak self] in Double(self?.refusedPlaces.count ?? 0) }
    losses.handler = { [weak self] in self?.tellAgain() }
    pausing.handler = { [weak self] in self?.followLedger() }
  }

  /// While the ledger is away, a worker takes no more jobs. Its running jobs wait for the ledger.
  private func followLedger() {
    guard !runs.isClosed else { return }
    for consumer in [consumer, notificationConsumer] {
      if ledger.isReady, hasSchema { consumer?.resume() } else { consumer?.pause() }
    }
  }

  public func start() async throws {
    let settings = context.settings.worker
    let health = HealthEndpoints(
      metrics: context.metrics,
      checks: [
        .redis(redis), .ledger(ledger), ReadinessCheck("rabbitmq publish") { [publisher] in publisher.trouble },
        ReadinessCheck("rabbitmq consume") { [weak self] in self?.consumer.trouble },
        ReadinessCheck("apple", isNeeded: false) { [weak self] in self?.refusedKeys },
        ReadinessCheck("not stopping") { [runs] in !runs.isClosed },
      ])
    server = try health.serve(at: settings.listen, context)
    redis.start()
    ledger.start()
    publisher.start()
    subscribers.start()
    consumer.pause()
    consumer.start()
    notificationConsumer.pause()
    notificationConsumer.start()
    try await SchemaWait(ledger, context.log) { [weak self] in
      self?.hasSchema = true
      self?.followLedger()
    }.start()
    let renewal = LoopTimer { [weak self] in self?.dependencies.leases.renewAll() }
    renewal.start(after: settings.leaseDuration / 3, every: settings.leaseDuration / 3)
    self.renewal = renewal
    upkeep.start()
    let outboxTimer = LoopTimer { [weak self] in self?.lookIntoOutbox() }
    timers.start()
    histories.start()
    refunds.start()
    outboxTimer.start(after: Self.outboxInterval * Double.random(in: 0.5...1), every: Self.outboxInterval)
    self.outboxTimer = outboxTimer
  }

  /// Notifications that one worker applies at once.
  private static let notificationsAtOnce = 200
  /// How often a worker looks for events that nobody has published.
  private static let outboxInterval: Duration = .seconds(2)
  /// After this long an event in the outbox is published again.
  private static let outboxPatience: Duration = .seconds(5)

  /// Stops the worker.
  ///
  /// The worker stops to consume, finishes running jobs within `grace`, and hands back the rest. It closes the
  /// channels properly, so that the broker has taken every acknowledgement.
  public func stop(grace: Duration) async {
    let end = ContinuousClock.now + grace
    func left() -> Duration { max(.zero, ContinuousClock.now.duration(to: end)) }
    runs.close()
    histories.close()
    timers.close()
    refunds.close()
    notifications.close()
    owed.close()
    upkeep.close()
    outboxTimer?.close()
    outboxTimer = nil
    await consumer.cancel()
    await notificationConsumer.cancel()
    // Without the ledger nothing can be finished: the jobs go back to the broker.
    if !ledger.isReady { commits.stop() }
    let cancelled = await runs.finish(within: left())
    await histories.finish(within: left())
    await notifications.finish(within: left())
    await timers.finish(within: left())
    await refunds.finish(within: left())
    await owed.finish(within: left())
    if cancelled > 0 { context.log.warning("the grace period was too short", ["cancelled": .int(Int64(cancelled))]) }
    commits.stop()
    upkeep.cancel()
    await publishing?.value
    await consumer.stop()
    await notificationConsumer.stop()
    await publisher.stop()
    await subscribers.stop()
    await commits.flushConfirmed()
    await ledger.stop()
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
    runs.start { [dependencies] in await JobRun.work(on: received, with: dependencies!) }
  }

  /// The places where Apple may know a publisher's transactions.
  private func places(of publisher: Publisher) -> [AppPlace] {
    if placesRevision != context.publishersRevision { (places, placesRevision) = ([:], context.publishersRevision) }
    if let known = places[publisher.id] { return known }
    let all = AppPlace.all(of: publisher, budgetScale: context.settings.appStore.budgetScale)
    places[publisher.id] = all
    return all
  }

  /// The apps whose key Apple refuses, each in an environment.
  private var refusedPlaces: [(publisher: Int64, place: AppPlace)] {
    guard placesRevision == context.publishersRevision else { return [] }
    return places.flatMap { id, places in places.map { (publisher: id, place: $0) } }
      .filter { $0.place.standing.value.refusedSince != nil }
  }

  /// A sentence for each of them; `nil` if there is none.
  private var refusedKeys: String? {
    let sentences = refusedPlaces.map { publisher, place in
      let since = rfc3339(milliseconds: place.standing.value.refusedSince ?? 0)
      return "Apple refuses the key of \(place.app.bundleId) (publisher \(publisher)) in "
        + "\(place.environment.rawValue) since \(since): \(place.standing.cause)"
    }
    return sentences.isEmpty ? nil : sentences.sorted().prefix(10).joined(separator: "; ")
  }

  /// Publishes events that nobody has published, and takes the published ones out of the outbox.
  private func lookIntoOutbox() {
    guard publishing == nil, !runs.isClosed, ledger.isReady else { return }
    publishing = Task { @LoopActor in
      await commits.flushConfirmed()
      await publishOverdue()
      if hasSchema { owed.look() }
      await sweepNotifications()
      publishing = nil
    }
  }

  /// Takes notifications that nobody has applied.
  private func sweepNotifications() async {
    guard hasSchema else { return }
    do {
      let count = try await notifications.sweep()
      if count > 0 { context.log.warning("applying open notifications", ["notifications": .int(Int64(count))]) }
    } catch {
      context.log.ledgerFailure("open notifications could not be taken", error)
    }
  }

  private func publishOverdue() async {
    guard publisher.isReady else { return }
    do {
      let events = try await Outbox(ledger).takeOverdue(olderThan: Self.outboxPatience, limit: 500)
      guard !events.isEmpty else { return }
      context.log.warning("publishing from the outbox", ["events": .int(Int64(events.count))])
      metrics.outbox.add(Double(events.count))
      dependencies.outlet.publish(events, isLate: true)
    } catch {
      context.log.warning("the outbox could not be read", ["cause": .failure(error)])
    }
  }

  /// Publishes the events again that the broker may have lost together with the connection.
  private func tellAgain() {
    let events = dependencies.recentEvents.take()
    guard !events.isEmpty else { return }
    context.log.info("telling again what was confirmed last", ["events": .int(Int64(events.count))])
    for event in events { runs.start { [self] in await dependencies.tellAgain(event) } }
  }
}

/// A handler of changes that a client tells. The client needs it before the worker is complete.
@LoopActor
private final class LateHandler {
  var handler: (@LoopActor () -> Void)?
}

extension HTTPClientConfiguration {
  fileprivate init(_ settings: AppStoreSettings) {
    self.init()
    caFile = settings.caFile
    maxConnectionsPerHost = settings.maxConnections
  }
}

extension AppStoreServerAPI.Configuration {
  fileprivate init(_ settings: AppStoreSettings) {
    self.init()
    productionURL = settings.productionURL
    sandboxURL = settings.sandboxURL
    timeout = settings.timeout
    maxResponseBytes = settings.maxResponseBytes
  }
}
