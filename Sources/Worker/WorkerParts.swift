import AMQP
import AppStore
import AppleCalls
import Configuration
import Coordination
import Domain
import EventLoop
import HTTP2
import Ledger
import Messaging
import Observability
import Postgres
import Service

/// What the services of a worker share: its clients, and what works with several of them.
@LoopActor
struct WorkerParts {
  let context: RoleContext
  let topology: Topology
  let metrics: WorkerMetrics
  let redis: RoleRedis
  let budgets: CallBudgets
  let open: OpenSynchronizations
  let apple: HTTP2Client
  let ledger: RoleLedger
  let subscribers: EventSubscribers
  let publisher: AMQPPublisher
  let commits: Commits
  let outlet: EventOutlet
  let places: AppPlaces
  let verification: PurchaseVerification.Dependencies
  let jobs: JobRun.Dependencies
  /// Who is told that a job has joined the line for Apple's calls.
  let joins = Followers<Void>()
  /// Who is told how many results, pieces of news and waits a commit had.
  let committed = Followers<Int>()
  /// The runs of jobs.
  let running = RunningTasks()
  let begun: BegunRuns
  let rows: SuspectRows

  /// Makes the parts. Nothing is started.
  ///
  /// - Throws: `TrustedRoots.Unreadable` when a configured root is no certificate; `PostgresEndpoint.InvalidURL`
  ///   without a usable `ledger.url`.
  init(_ context: RoleContext) throws {
    let settings = context.settings
    self.context = context
    topology = Topology(settings)
    metrics = WorkerMetrics(context.metrics)
    metrics.deadMessages.set(0, topology.deadJobs)
    redis = RoleRedis(context, isNeeded: true)
    let prefix = settings.redis.prefix
    budgets = CallBudgets(redis.client, prefix: prefix)
    open = OpenSynchronizations(redis.client, prefix: prefix)
    begun = BegunRuns(redis.client, prefix: prefix)
    ledger = try RoleLedger(context, isNeeded: true)
    subscribers = EventSubscribers(context, ledger.postgres)
    publisher = AMQPPublisher(
      { AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign worker publishes",
      onChange: context.observer(of: "publish"), declare: context.declaring(topology))
    commits = Commits(ledger.postgres, Commits.Settings(context, metrics, committed))
    outlet = context.makeOutlet(
      publisher, subscribers, onConfirm: { [metrics] _ in metrics.events.count() },
      settle: { [commits] in commits.confirm([$0]) })
    places = AppPlaces(context)
    apple = HTTP2Client(settings.appStore)
    verification = PurchaseVerification.Dependencies(
      api: AppStoreServerAPI(AppStoreServerAPI.Configuration(settings.appStore), client: apple, now: context.now),
      verifier: SignedDataVerifier(roots: try .named(settings.appStore.rootFiles) ?? .apple),
      budget: budgets, now: context.now, metrics: metrics)
    let turns = WaitingTurns(redis.client, prefix: prefix)
    jobs = JobRun.Dependencies(
      settings: settings.worker, topology: topology, leases: Leases(redis.client, prefix: prefix),
      takeTurn: { try await turns.take(of: $0) }, onJoin: { [joins] in joins.tell(()) }, ledger: commits,
      broker: publisher,
      doors: context.doors, publishers: { context.publishers }, appPlaces: { [places] in places.of($0) },
      signedData: verification.verifier,
      verify: { [verification] run in
        await PurchaseVerification(
          of: run.job, attempt: run.attempt, at: run.places, route: run.lease.route, grant: run.lease.call,
          with: verification, run.log, run.span)?.make()
      }, clock: context.clock, log: context.log, metrics: metrics, outlet: outlet, faults: context.faults,
      tracer: context.tracer)
    PlaceMetrics.register(jobs.places, in: context.metrics)
    rows = SuspectRows(jobs.suspects, begun, context)
  }

  /// Returns a consumer that declares the topology on each connection.
  ///
  /// - Parameters:
  ///   - name: what it does, after "countersign worker" at the broker.
  ///   - connection: its name in the log and in the metrics.
  ///   - prefetch: unacknowledged deliveries at a time.
  func consumer(
    _ name: String, _ connection: String, of queue: String, prefetch: Int,
    handler: @escaping @LoopActor (AMQPConsumer.Received) -> Void
  ) -> AMQPConsumer {
    AMQPConsumer(
      { [context] in AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign worker \(name)", queue: queue,
      prefetch: prefetch, probe: AMQPProbe(queue: topology.probe), onChange: context.observer(of: connection),
      declare: context.declaring(topology),
      handler: handler)
  }
}

extension Commits.Settings {
  @LoopActor
  fileprivate init(_ context: RoleContext, _ metrics: WorkerMetrics, _ committed: Followers<Int>) {
    self.init(
      connections: context.settings.ledger.connections, now: { context.now() },
      audience: { context.publishers.audience },
      onFailure: { error in
        metrics.commitFailures.count()
        context.log.ledgerFailure("a commit failed", error)
      },
      onCommit: {
        metrics.commits.observe(Double($0))
        committed.tell($0)
      }, onBegin: { metrics.commitWait.observe($0, $1.rawValue) })
  }
}
