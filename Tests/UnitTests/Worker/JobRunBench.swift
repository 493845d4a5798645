import AppStore
import Configuration
import Domain
import EventLoop
import Messaging
import Observability
import Redis
import Service
import Store

@testable import AMQP
@testable import Worker

/// A run of a job whose servers are values: Redis's answers, Apple's findings, and the messages that the broker got.
@LoopActor
final class JobRunBench {
  nonisolated static let now: Int64 = 1_700_000_000_000
  nonisolated static let job = Job(
    synchronizationId: "s", publisherId: 1, customerId: 7, transactionId: "100", registeredAt: now - 500,
    traceparent: "00-t")
  nonisolated static let granted = Outcome(
    .purchaseSynchronized, accessGranted: true, offerId: "S1", originalTransactionId: "99", environment: "Production")

  let store = StoreByValue()
  let broker = BrokerByValue()
  let metrics = Metrics()
  let publishers: Publishers
  /// The results of the verification, one after the other.
  var findings: [PurchaseVerification.Finding] = []
  /// Runs while the worker asks Apple.
  var whileAsking: @LoopActor () -> Void = {}
  /// How often the worker asked Apple.
  private(set) var asked = 0
  private(set) var dependencies: JobRun.Dependencies!

  init(sells productIds: [String] = ["monthly"]) throws {
    let settings = try ConfigurationFolder().settings(
      #"{"worker": {"retryScheduleSeconds": [1, 31], "notFoundRetries": 1, "answerReuseSeconds": 3}}"#)
    publishers = Publishers([
      Publisher(
        id: 1, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
        offers: OfferCatalog([Offer(id: "S1", productIds: productIds)]), webhooks: [])
    ])
    dependencies = JobRun.Dependencies(
      settings: settings.worker, topology: Topology(prefix: "cs"), store: store, broker: broker,
      publishers: { [publishers] in publishers }, places: { _ in [] },
      verify: { [unowned self] _ in
        asked += 1
        whileAsking()
        return findings.isEmpty ? nil : findings.removeFirst()
      },
      clock: FleetClock { Self.now }, log: Log(level: .error), metrics: WorkerMetrics(metrics) { 0 })
  }

  /// Runs a delivery to its end.
  @discardableResult
  func run(
    _ job: Job = job, attempt: Int = 1, due: Int64? = nil, wasRedelivered: Bool = false
  ) async -> DeliveryByValue {
    let message = JobMessage.message(job, attempt: attempt, queue: "cs.jobs", due: due, wasRedelivered: wasRedelivered)
    let delivery = DeliveryByValue(message.body, message.headers)
    await JobRun.work(on: delivery, with: dependencies)
    return delivery
  }

  /// The value of a counter without labels, or with this one.
  func count(_ name: String, _ label: String = "") -> Double? {
    let line = metrics.text().split(separator: "\n").first { $0.hasPrefix("\(name)\(label) ") }
    return line.flatMap { Double($0.split(separator: " ").last ?? "") }
  }

  static func finding(
    expiresDate: Int64 = now + 60_000, isFresh: Bool = true, route: Route? = Route(place: "app|Production")
  ) -> PurchaseVerification.Finding {
    PurchaseVerification.Finding(
      outcome: .verified(
        VerifiedPurchase(
          kind: .autoRenewable, originalTransactionId: "99", productId: "monthly", environment: "Production",
          purchaseDate: now - 1000, expiresDate: expiresDate)), route: route, isFresh: isFresh)
  }
}

/// Redis as a list of answers, with a record of the questions.
@LoopActor
final class StoreByValue: JobStore {
  /// The answers to requests for a lease; the last one repeats.
  var leases: [Result<LeaseAnswer, RedisError>] = [.success(.taken(Lease(fence: 5, route: nil)))]
  /// The answer to finalizing; `nil` finalizes with the given outcome.
  var finalization: Result<FinalizeAnswer, RedisError>?
  /// Whether the store holds the next lease back until ``letGo()``.
  var holdsNextLease = false
  private var held: CheckedContinuation<Void, Never>?
  private(set) var askedForLease: [Bool] = []
  private(set) var finalized: [Outcome] = []
  private(set) var reuse: [Duration] = []
  private(set) var routes: [String?] = []
  private(set) var released: [Release] = []
  private(set) var told: [Job] = []
  private(set) var renewed: [String] = []
  /// How many leases each call renewed.
  private(set) var renewals: [Int] = []

  struct Release: Equatable {
    let isRetrying: Bool
    let isRun: Bool
    let sweepAfter: Duration
    var route: String?
  }

  nonisolated static let unreachable = RedisError(.unreachable, operation: "EVALSHA", target: "Redis", cause: "down")
  nonisolated static let newer = RedisError(
    .reply, operation: "script", target: "Redis", cause: "NEWER sync:1:s has version 2, and this process reads 1")

  func takeLease(
    _ job: Job, for duration: Duration, sweepAfter: Duration, wasRedelivered: Bool, places: [CallPlace]
  ) async throws -> LeaseAnswer {
    askedForLease.append(wasRedelivered)
    if holdsNextLease {
      holdsNextLease = false
      await withCheckedContinuation { held = $0 }
    }
    return try (leases.count > 1 ? leases.removeFirst() : leases[0]).get()
  }

  func renewLeases(
    _ held: [(job: Job, lease: Lease)], for duration: Duration, sweepAfter: Duration
  ) async throws -> [Bool] {
    renewed += held.map(\.job.synchronizationId)
    renewals.append(held.count)
    return held.map { _ in true }
  }

  func release(
    _ job: Job, _ lease: Lease, isRetrying: Bool, sweepAfter: Duration, route: String?, isRun: Bool
  ) async throws {
    released.append(Release(isRetrying: isRetrying, isRun: isRun, sweepAfter: sweepAfter, route: route))
  }

  func finalize(
    _ job: Job, _ lease: Lease, _ outcome: Outcome, retention: Duration, sweepAfter: Duration, route: String?,
    reuse: Duration
  ) async throws -> FinalizeAnswer {
    finalized.append(outcome)
    self.reuse.append(reuse)
    routes.append(route)
    if let finalization { return try finalization.get() }
    return .finalized(Self.synchronization(of: job, outcome, version: lease.fence))
  }

  func told(_ job: Job) async throws { told.append(job) }

  func letGo() { held?.resume() }

  nonisolated static func synchronization(of job: Job, _ outcome: Outcome, version: Int64) -> Synchronization {
    Synchronization(
      id: job.synchronizationId, publisherId: job.publisherId, customerId: job.customerId,
      transactionId: job.transactionId, status: .finalized,
      conclusion: Conclusion(outcome: outcome, version: version, finalizedAt: JobRunBench.now, traceparent: nil))
  }
}

/// The broker as the list of its messages.
@LoopActor
final class BrokerByValue: JobBroker {
  var failure: AMQPError?
  private(set) var messages: [AMQPMessage] = []

  func publishSurely(_ message: AMQPMessage) async throws {
    if let failure { throw failure }
    messages.append(message)
  }

  /// The queue or exchange of each message.
  var queues: [String] { messages.map { $0.exchange.isEmpty ? $0.routingKey : $0.exchange } }
}

/// A message of the queue, and its fate.
@LoopActor
final class DeliveryByValue: JobDelivery {
  enum Fate: Equatable { case acknowledged, requeued, requeuedLater }

  let delivery: AMQPDelivery
  private(set) var fate: Fate?

  init(_ body: [UInt8], _ headers: [String: AMQPValue], isRedelivered: Bool = false) {
    var properties = AMQPProperties()
    properties.messageID = "m"
    properties.contentType = "application/json"
    properties.type = "job"
    properties.headers = headers
    delivery = AMQPDelivery(
      tag: 1, isRedelivered: isRedelivered, exchange: "", routingKey: "cs.jobs", properties: properties, body: body)
  }

  func acknowledge() { fate = .acknowledged }
  func requeue() { fate = .requeued }
  func requeueLater() async { fate = .requeuedLater }
}
