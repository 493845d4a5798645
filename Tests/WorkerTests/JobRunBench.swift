import AMQP
import AppStore
import Configuration
import Domain
import EventLoop
import Messaging
import Observability
import Redis
import RoleSupport
import Service

@testable import Worker

/// A run of a job whose servers are values: the answers of Redis and of the ledger, the attempts at Apple, and the
/// messages that the broker got.
@LoopActor
final class JobRunBench {
  nonisolated static let now: Int64 = 1_700_000_000_000
  nonisolated static let job = Job(
    synchronizationId: "s", publisherId: 1, customerId: "7", transactionId: "100", registeredAt: now - 500,
    traceparent: "00-t")
  nonisolated static let granted = SynchronizationResult(
    .purchaseSynchronized, accessGranted: true, offerId: "S1", originalTransactionId: "99", environment: "Production")

  let leases = LeasesByValue()
  /// The answer to a job that waits for its turn.
  var turn: Result<Duration, RedisError> = .success(.milliseconds(50))
  let ledger = LedgerByValue()
  let broker = BrokerByValue()
  let metrics = Metrics()
  let tracer: Tracer
  let publishers: Publishers
  /// The results of the verification, one after the other.
  var attempts: [PurchaseVerification.Attempt] = []
  /// The places where Apple may know the transaction.
  var places: [AppPlace] = []
  /// Runs while the worker asks Apple.
  var whileAsking: @LoopActor (JobRun) -> Void = { _ in }
  /// How many jobs have joined the line.
  private(set) var joined = 0
  /// How often the worker asked Apple.
  private(set) var asked = 0
  private(set) var dependencies: JobRun.Dependencies!

  /// - Parameters:
  ///   - apps: the publisher's.
  ///   - signedData: verifies what a job has signed.
  ///   - logLevel: of the run's own lines.
  init(
    apps: [Publisher.App] = [], signedData: SignedDataVerifier = SignedDataVerifier(), logLevel: Log.Level = .error
  ) throws {
    // No lease ends by itself, however busy the machine is.
    let settings = try ConfigurationFolder().settings(
      #"""
      {"worker": {"concurrency": 8, "retryScheduleSeconds": [1, 31], "notFoundRetries": 1, "answerReuseSeconds": 3,
        "leaseSeconds": 600}}
      """#)
    publishers = Publishers([
      Publisher(
        id: 1, customers: .open, tokenHashes: [], customerTokens: nil, apps: apps,
        offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"])]), webhooks: [])
    ])
    let worker = WorkerMetrics(metrics)
    tracer = Tracer(ratio: 0, metrics)
    dependencies = JobRun.Dependencies(
      settings: settings.worker, topology: Topology(prefix: "cs"), leases: leases,
      takeTurn: { [unowned self] _ in try turn.get() }, onJoin: { [unowned self] in joined += 1 }, ledger: ledger,
      broker: broker,
      doors: DoorCatalog(), publishers: { [publishers] in publishers },
      appPlaces: { [unowned self] _ in places }, signedData: signedData,
      verify: { [unowned self] run in
        asked += 1
        whileAsking(run)
        return attempts.isEmpty ? nil : attempts.removeFirst()
      },
      clock: FleetClock { Self.now }, log: Log(level: logLevel), metrics: worker,
      outlet: EventOutlet(
        broker, queue: { _ in "cs.notifier" }, EventOutlet.Subscribers(), Log(level: .error), tracer,
        onConfirm: { _ in worker.events.count() }, settle: { [ledger] in ledger.confirm([$0]) },
        onReduced: EventOutlet.reducedEvents(metrics, EventTopic.own)), tracer: tracer)
  }

  /// Runs a delivery to its end.
  @discardableResult
  func run(
    _ job: Job = job, attempt: Int = 1, due: Int64? = nil, wasRedelivered: Bool = false
  ) async -> DeliveryByValue {
    let delivery = Self.delivery(of: job, attempt: attempt, due: due, wasRedelivered: wasRedelivered)
    await JobRun.work(on: delivery, with: dependencies)
    return delivery
  }

  static func delivery(
    of job: Job = job, attempt: Int = 1, due: Int64? = nil, wasRedelivered: Bool = false
  ) -> DeliveryByValue {
    let message = JobMessage.message(job, attempt: attempt, queue: "cs.jobs", due: due, wasRedelivered: wasRedelivered)
    return DeliveryByValue(message.body, message.headers)
  }

  /// The value of a counter without labels, or with this one.
  func count(_ name: String, _ label: String = "") -> Double? {
    let line = metrics.text().split(separator: "\n").first { $0.hasPrefix("\(name)\(label) ") }
    return line.flatMap { Double($0.split(separator: " ").last ?? "") }
  }

  // MARK: What Apple has signed

  nonisolated static let key = key(in: "Production")

  nonisolated static func key(in environment: Environment) -> PurchaseKey {
    PurchaseKey(publisherId: 1, environment: environment, originalTransactionId: "99")
  }

  /// A signed transaction of a monthly subscription.
  nonisolated static func evidence(expiresDate: Int64, in environment: Environment = "Production") -> Evidence {
    Evidence(
      .transaction(
        TransactionFacts(
          transactionId: "100", originalTransactionId: "99", bundleId: "app", productId: "monthly",
          kind: .autoRenewable, environment: environment, purchaseDate: now - 1000, expiresDate: expiresDate,
          signedDate: now - 1000, payloadSHA256: [1])),
      source: .serverAPI, signedHeader: [1], payload: [2], signature: [3])
  }

  /// A subscription that the ledger knows.
  nonisolated static func purchase(in environment: Environment = "Production") -> Purchase {
    guard
      let purchase = Purchase(
        key(in: environment), folding: [evidence(expiresDate: now + 60_000, in: environment)])
    else { preconditionFailure("A transaction makes a purchase.") }
    return purchase
  }

  static func attempt(
    expiresDate: Int64 = now + 60_000, isFresh: Bool = true, route: AppleRoute? = AppleRoute(place: "app|Production")
  ) -> PurchaseVerification.Attempt {
    let evidence = [evidence(expiresDate: expiresDate)]
    return PurchaseVerification.Attempt(
      result: .verified, evidence: evidence, purchase: Purchase(key, folding: evidence), route: route,
      isFresh: isFresh)
  }
}
