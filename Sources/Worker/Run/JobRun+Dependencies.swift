import AMQP
import Configuration
import Domain
import EventLoop
import Messaging
import Observability
import Service
import Store

/// The part of the store that a run uses.
@LoopActor
protocol JobStore {
  func takeLease(
    _ job: Job, for duration: Duration, sweepAfter: Duration, wasRedelivered: Bool, places: [CallPlace]
  ) async throws -> LeaseAnswer
  func renewLeases(
    _ held: [(job: Job, lease: Lease)], for duration: Duration, sweepAfter: Duration
  ) async throws -> [Bool]
  func release(
    _ job: Job, _ lease: Lease, isRetrying: Bool, sweepAfter: Duration, route: String?, cause: RetryCause?,
    isRun: Bool
  ) async throws
  func conclude(_ concluded: Concluded) async throws
  func takeTurn(of publisher: Int64) async throws -> Duration
}

extension PurchaseStore: JobStore {}

/// A message of the jobs' queue, and the ways to settle it.
@LoopActor
protocol JobDelivery {
  var delivery: AMQPDelivery { get }
  func acknowledge()
  func requeue()
  func requeueLater() async
}

extension AMQPConsumer.Received: JobDelivery {}

extension JobRun {
  /// The dependencies of all runs of a worker. They share one object.
  @LoopActor
  final class Dependencies {
    let settings: WorkerSettings
    let policy: RetryPolicy
    let topology: Topology
    let store: any JobStore
    let ledger: any JobLedger
    let broker: any MessageBroker
    /// The doors of this build.
    let doors: DoorCatalog
    /// The publishers in the present configuration.
    let publishers: @LoopActor () -> Publishers
    /// The places where Apple may know a publisher's transactions.
    let places: @LoopActor (Publisher) -> [AppPlace]
    /// Asks Apple; `nil` when there is no place to ask.
    let verify: @LoopActor (JobRun) async -> PurchaseVerification.Finding?
    let clock: FleetClock
    let log: Log
    let metrics: WorkerMetrics
    let faults: TestFaults
    let suspects: Suspects
    let leases: HeldLeases
    let outlet: EventOutlet
    let replies: ReplyOutlet

    init(
      settings: WorkerSettings, topology: Topology, store: any JobStore, ledger: any JobLedger,
      broker: any MessageBroker, doors: DoorCatalog = DoorCatalog(), publishers: @escaping @LoopActor () -> Publishers,
      places: @escaping @LoopActor (Publisher) -> [AppPlace],
      verify: @escaping @LoopActor (JobRun) async -> PurchaseVerification.Finding?, clock: FleetClock, log: Log,
      metrics: WorkerMetrics, outlet: EventOutlet, suspects: Suspects = Suspects(), faults: TestFaults = TestFaults()
    ) {
      self.settings = settings
      policy = RetryPolicy(settings)
      self.topology = topology
      self.store = store
      self.ledger = ledger
      self.broker = broker
      self.doors = doors
      self.publishers = publishers
      self.places = places
      self.verify = verify
      self.clock = clock
      self.log = log
      self.metrics = metrics
      self.outlet = outlet
      self.suspects = suspects
      self.faults = faults
      leases = HeldLeases(store, settings, log)
      replies = ReplyOutlet(broker, log)
    }
  }
}
