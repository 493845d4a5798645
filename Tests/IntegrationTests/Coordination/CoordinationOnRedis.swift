import Coordination
import Domain
import EventLoop
import Fleets
import Redis
import TestSupport

/// What the fleet coordinates, in the tests' Redis and under a prefix of its own.
@LoopActor
struct CoordinationOnRedis {
  let claims: TransactionClaims
  let leases: Leases
  let open: OpenSynchronizations
  let copies: CustomerCopies
  let budgets: CallBudgets
  let turns: WaitingTurns
  let redis: RedisClient
  let prefix: String

  init(_ redis: RedisClient, prefix: String) {
    claims = TransactionClaims(redis, prefix: prefix)
    leases = Leases(redis, prefix: prefix)
    open = OpenSynchronizations(redis, prefix: prefix)
    copies = CustomerCopies(redis, prefix: prefix)
    budgets = CallBudgets(redis, prefix: prefix)
    turns = WaitingTurns(redis, prefix: prefix)
    (self.redis, self.prefix) = (redis, prefix)
  }

  nonisolated static let hour = Duration.seconds(3600)

  /// Runs a test and removes its keys.
  static func with(_ body: @LoopActor (CoordinationOnRedis) async throws -> Void) async throws {
    let redis = RedisClient(TestServers.current!.redis)
    redis.start()
    try await eventually("ready") { redis.isReady }
    let prefix = "test-\(UInt64.random(in: 0...UInt64.max)):"
    let test = CoordinationOnRedis(redis, prefix: prefix)
    try await body(test)
    try await test.wipe()
    await redis.stop()
  }

  /// Removes every key, like a Redis that has lost its data.
  func wipe() async throws {
    for key in try await keys() { _ = try await redis.send(["DEL", key]) }
  }

  func keys() async throws -> [String] {
    try await redis.send(["KEYS", prefix + "*"]).array?.compactMap(\.string) ?? []
  }

  /// The keys that stay: a customer's rate is forgotten after a moment, and a publisher's is a field.
  func lastingKeys() async throws -> [String] {
    let counts = try await redis.send(["HKEYS", prefix + "limits"]).array?.compactMap(\.string) ?? []
    let hasCounts = counts.contains { !$0.hasPrefix("rate:") }
    return try await keys().filter { !$0.hasPrefix(prefix + "rate:") && (hasCounts || $0 != prefix + "limits") }
  }

  nonisolated static func job(
    _ id: SynchronizationId = "s", customer: CustomerId = "7", transaction: TransactionId = "100",
    publisher: PublisherId = 1,
    kind: Job.Kind = .registration, lane: JobLane = .usual
  ) -> Job {
    Job(
      synchronizationId: id, publisherId: publisher, customerId: customer, transactionId: transaction, kind: kind,
      lane: lane, registeredAt: 1, traceparent: "t")
  }

  /// The number of synchronizations that have not left Redis.
  func openCount() async throws -> Int64? {
    let (usual, bulk) = (Keys(prefix: prefix).open(.usual), Keys(prefix: prefix).open(.bulk))
    return try await redis.send(["ZUNIONSTORE", prefix + "all", "2", usual, bulk]).integer
  }

  func claim(_ job: Job, mustBeKnown: Bool = false, sweepAfter: Duration = hour) async throws -> ClaimAnswer {
    try await claims.take(job, checksCustomer: false, mustBeKnown: mustBeKnown, sweepAfter: sweepAfter)
  }

  func lease(_ job: Job, for duration: Duration = .seconds(60), places: [CallPlace] = []) async throws -> Lease {
    let answer = try await leases.take(job, for: duration, sweepAfter: Self.hour, places: places)
    guard case .taken(let lease) = answer else { throw NeverHappened(description: "the lease was not taken") }
    return lease
  }

  /// Runs a job to its end.
  func finish(_ job: Job) async throws {
    try await leases.finalize(FinalizedJob(job: job, fence: try await lease(job).fence))
  }

  func renew(_ job: Job, _ lease: Lease, for duration: Duration, sweepAfter: Duration = hour) async throws -> Bool {
    try await leases.renew([(job, lease)], for: duration, sweepAfter: sweepAfter)[0]
  }

  func release(_ job: Job, _ lease: Lease, isRetrying: Bool = false, route: String? = nil) async throws {
    try await leases.release(job, lease, isRetrying: isRetrying, sweepAfter: Self.hour, route: route)
  }
}
