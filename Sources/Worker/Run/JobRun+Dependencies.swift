import AMQP
import AppStore
import Configuration
import Coordination
import Domain
import EventLoop
import Messaging
import Observability
import Service

/// The leases of jobs, as far as a run uses them.
@LoopActor
protocol JobLeases {
  func take(
    _ job: Job, attempt: Int, copy: JobCopy, for duration: Duration, sweepAfter: Duration, isDelivered: Bool,
    wasRedelivered: Bool, places: [CallPlace], mayCall: Bool, run: Int64
  ) async throws -> LeaseAnswer
  func renew(
    _ held: [(job: Job, lease: Lease)], for duration: Duration, sweepAfter: Duration
  ) async throws -> [Bool]
  func release(
    _ job: Job, _ lease: Lease, isRetrying: Bool, sweepAfter: Duration, route: String?, cause: RetryCause?,
    isRun: Bool
  ) async throws
  func forget(_ copy: JobCopy, of job: Job) async throws
  func finalize(_ job: FinalizedJob) async throws
}

extension Leases: JobLeases {}

/// A message of the jobs' queue, and the ways to settle it. A job out of the line has no message in hand, but its copy
/// at the broker.
@LoopActor
protocol JobDelivery: ReceivedMessage {
  /// Whether the job has a copy at the broker, and so needs no other one while it waits in the line.
  var hasCopy: Bool { get }
}

extension AMQPConsumer.Received: JobDelivery {
  var hasCopy: Bool { false }
}

extension JobRun {
  /// The dependencies of all runs of a worker. They share one object.
  @LoopActor
  final class Dependencies {
    let settings: WorkerSettings
    let policy: JobRetryPolicy
    let topology: Topology
    let leases: any JobLeases
    /// The places of jobs in this worker.
    let places: JobPlaces
    /// Called when a job has joined the line.
    let onJoin: @LoopActor () -> Void
    /// Takes the next turn of a publisher's jobs that wait for an app, and returns how long until then.
    let takeTurn: @LoopActor (_ publisher: PublisherId) async throws -> Duration
    let ledger: any JobLedger
    let broker: any MessageBroker
    /// The doors of this build.
    let doors: DoorCatalog
    /// The publishers in the present configuration.
    let publishers: @LoopActor () -> Publishers
    /// Where Apple may know a publisher's transactions.
    let appPlaces: @LoopActor (Publisher) -> [AppPlace]
    /// Verifies what Apple signed, without a call.
    let signedData: SignedDataVerifier
    /// Asks Apple; `nil` when there is no place to ask.
    let verify: @LoopActor (JobRun) async -> PurchaseVerification.Attempt?
    let clock: FleetClock
    let log: Log
    let metrics: WorkerMetrics
    /// Records the spans of runs; `nil` for none.
    let tracer: Tracer?
    let faults: TestFaults
    let suspects: Suspects
    let heldLeases: HeldLeases
    let outlet: EventOutlet
    let replies: ReplyOutlet

    init(
      settings: WorkerSettings, topology: Topology, leases: any JobLeases,
      takeTurn: @escaping @LoopActor (_ publisher: PublisherId) async throws -> Duration,
      onJoin: @escaping @LoopActor () -> Void, ledger: any JobLedger, broker: any MessageBroker, doors: DoorCatalog,
      publishers: @escaping @LoopActor () -> Publishers, appPlaces: @escaping @LoopActor (Publisher) -> [AppPlace],
      signedData: SignedDataVerifier = SignedDataVerifier(),
      verify: @escaping @LoopActor (JobRun) async -> PurchaseVerification.Attempt?, clock: FleetClock, log: Log,
      metrics: WorkerMetrics, outlet: EventOutlet, suspects: Suspects = Suspects(), faults: TestFaults = TestFaults(),
      tracer: Tracer? = nil
    ) {
      self.settings = settings
      policy = JobRetryPolicy(settings)
      self.topology = topology
      self.leases = leases
      self.takeTurn = takeTurn
      self.onJoin = onJoin
      self.ledger = ledger
      self.broker = broker
      self.doors = doors
      self.publishers = publishers
      self.appPlaces = appPlaces
      places = JobPlaces(concurrency: settings.concurrency)
      self.signedData = signedData
      self.verify = verify
      self.clock = clock
      self.log = log
      self.metrics = metrics
      self.outlet = outlet
      self.suspects = suspects
      self.faults = faults
      self.tracer = tracer
      heldLeases = HeldLeases(leases, settings, log)
      replies = ReplyOutlet(broker, log)
    }
  }
}
