import Domain
import EventLoop
import Harness
import Ledger
import Redis
import Store
import TestSupport
import Testing

/// Records that a newer process wrote: every operation refuses them and leaves them unchanged.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct RecordVersionTests {
  private nonisolated static let hour = Duration.seconds(3600)
  private nonisolated static let job = Job(
    synchronizationId: "s", publisherId: 1, customerId: 7, transactionId: "100", registeredAt: 1)
  private nonisolated static let granted = Outcome(
    .purchaseSynchronized, accessGranted: true, offerId: "S1", originalTransactionId: "99", environment: "Production")
  private nonisolated static let lease = Lease(fence: 5, route: nil)

  /// A record of version 2, and an operation that meets it.
  struct Meeting: CustomTestStringConvertible, Sendable {
    let key: String
    var isHash = true
    let name: String
    let operation: @LoopActor @Sendable (RedisClient, String) async throws -> Void

    var testDescription: String { "\(name) meets \(key)" }

    init(
      _ key: String, isHash: Bool = true, _ name: String,
      _ operation: @escaping @LoopActor @Sendable (RedisClient, String) async throws -> Void
    ) {
      (self.key, self.isHash, self.name, self.operation) = (key, isHash, name, operation)
    }
  }

  private nonisolated static func store(
    _ key: String, isHash: Bool = true, _ name: String,
    _ operation: @escaping @LoopActor @Sendable (PurchaseStore) async throws -> Void
  ) -> Meeting {
    Meeting(key, isHash: isHash, name) { try await operation(PurchaseStore($0, prefix: $1)) }
  }

  private nonisolated static func endpoints(
    _ key: String, _ name: String,
    _ operation: @escaping @LoopActor @Sendable (WebhookEndpointStore) async throws -> Void
  ) -> Meeting {
    Meeting(key, name) { try await operation(WebhookEndpointStore($0, prefix: $1)) }
  }

  private nonisolated static let meetings: [Meeting] = [
    store("sync:1:s", "status") { _ = try await $0.synchronization(1, "s") },
    store("sync:1:s", "claim") { _ = try await $0.claim(job, checksCustomer: false, sweepAfter: hour) },
    store("sync:1:s", "prolong") { _ = try await $0.prolongClaim(job) },
    store("sync:1:s", "undo") { _ = try await $0.undoClaim(job) },
    store("sync:1:s", "lease") { _ = try await $0.takeLease(job, for: hour, sweepAfter: hour) },
    store("sync:1:s", "finalize") {
      _ = try await $0.finalize(job, lease, granted, retention: hour, sweepAfter: hour, route: nil)
    },
    store("claim:1:100", isHash: false, "claim") {
      _ = try await $0.claim(job, checksCustomer: false, sweepAfter: hour)
    },
    store("claim:1:100", isHash: false, "prolong") { _ = try await $0.prolongClaim(job) },
    store("claim:1:100", isHash: false, "lease") { _ = try await $0.takeLease(job, for: hour, sweepAfter: hour) },
    store("claim:1:100", isHash: false, "finalize") {
      _ = try await $0.finalize(job, lease, granted, retention: hour, sweepAfter: hour, route: nil)
    },
    store("transaction:1:100", isHash: false, "lease") {
      _ = try await $0.takeLease(job, for: hour, sweepAfter: hour)
    },
    store("transaction:1:100", isHash: false, "finalize") {
      _ = try await $0.finalize(job, lease, granted, retention: hour, sweepAfter: hour, route: nil)
    },
    store("transaction:1:100", isHash: false, "release") {
      try await $0.release(job, lease, isRetrying: true, sweepAfter: hour, route: nil)
    },
    store("owner:1:Production:99", isHash: false, "finalize") {
      _ = try await $0.finalize(job, lease, granted, retention: hour, sweepAfter: hour, route: nil)
    },
    store("customer:1:7", "claim") { _ = try await $0.claim(job, checksCustomer: true, sweepAfter: hour) },
    store("customer:1:7", "put") { _ = try await $0.putCustomer(1, Customer(id: 7, email: "a@b")) },
    store("customer:1:7", "read") { _ = try await $0.customer(1, 7) },
    store("customer:1:7", "delete") { _ = try await $0.deleteCustomer(1, 7) },
    endpoints("webhook:1:ep", "read") { _ = try await $0.endpoint(1, "ep") },
    endpoints("webhook:1:ep", "list") { _ = try await $0.endpoints(1) },
    endpoints("webhook:1:ep", "change") { _ = try await $0.change(1, "ep") { endpoint, _ in endpoint.name = "x" } },
    endpoints("webhook:1:ep", "delete") { _ = try await $0.delete(1, "ep") },
    endpoints("webhook:1:ep", "replace") { _ = try await $0.replace(1, topic: "t", with: []) },
    endpoints("webhook-health:1:ep", "health") { _ = try await $0.health(1, ["ep"]) },
    endpoints("webhook-health:1:ep", "enable") { _ = try await $0.enable(1, "ep", isConfigured: true) },
    Meeting("webhook-health:1:ep", "begin") { try await begin(DeliveryStore($0, prefix: $1)) },
    Meeting("webhook-health:1:ep", "finish") { try await finish(DeliveryStore($0, prefix: $1)) },
    Meeting("event:1:evt_1", "begin") { try await begin(DeliveryStore($0, prefix: $1)) },
    Meeting("event:1:evt_1", "finish") { try await finish(DeliveryStore($0, prefix: $1)) },
    Meeting("event:1:evt_1", "read") {
      _ = try await DeliveryStore($0, prefix: $1).event(publisher: 1, id: "evt_1", to: "ep", round: "r")
    },
  ]

  private nonisolated static let endpoint = WebhookEndpoint(
    id: "ep", url: "https://example.com", name: "", topics: ["t"], format: .cleeng, signature: .v1,
    secrets: [], retry: .standard, maxConcurrency: 1, source: .configuration)

  private static func delivery() throws -> Delivery {
    try Delivery(
      eventId: "evt_1", endpointId: "ep", headers: [:], body: Array(#"{"broadcasterId":1,"topic":"t","data":{}}"#.utf8))
  }

  private static func begin(_ store: DeliveryStore) async throws {
    _ = try await store.begin(delivery(), to: endpoint, lease: hour)
  }

  private static func finish(_ store: DeliveryStore) async throws {
    let attempt = DeliveryAttempt(
      eventId: "evt_1", endpointId: "ep", topic: "t", version: nil, number: 1, time: 0, outcome: .delivered)
    _ = try await store.finish(delivery(), to: endpoint, attempt, disableAfter: hour, retention: hour)
  }

  private func with(_ body: @LoopActor (RedisClient, String) async throws -> Void) async throws {
    let redis = RedisClient(TestServers.current!.redis)
    redis.start()
    try await eventually("ready") { redis.isReady }
    let prefix = "test-\(UInt64.random(in: 0...UInt64.max)):"
    try await body(redis, prefix)
    for key in try await redis.send(["KEYS", prefix + "*"]).array ?? [] {
      _ = try await redis.send(["DEL", key.string ?? ""])
    }
    await redis.stop()
  }

  /// Writes a record like a process of the next version: every field has another meaning.
  private func write(_ meeting: Meeting, version: String, _ redis: RedisClient, _ prefix: String) async throws {
    if meeting.isHash {
      _ = try await redis.send([
        "HSET", prefix + meeting.key, "recordVersion", version, "status", "elsewhere", "job", "{}",
        "source", "subscription", "topics", #"["t"]"#, "revision", "1",
      ])
    } else {
      _ = try await redis.send(["SET", prefix + meeting.key, "v\(version)\u{1F}5\u{1F}0\u{1F}0"])
    }
    if meeting.key.hasPrefix("webhook:") { _ = try await redis.send(["ZADD", prefix + "webhooks:1", "1", "ep"]) }
  }

  private func everything(_ redis: RedisClient, _ prefix: String) async throws -> [String: RESPValue] {
    var all: [String: RESPValue] = [:]
    for key in try await redis.send(["KEYS", prefix + "*"]).array ?? [] {
      let name = key.string ?? ""
      all[name] = try await redis.send(["DUMP", name])
    }
    return all
  }

  @Test(arguments: RecordVersionTests.meetings, ["2", "17"])
  func `a newer record is refused, and nothing is written`(meeting: Meeting, version: String) async throws {
    try await with { (redis, prefix) async throws in
      try await write(meeting, version: version, redis, prefix)
      let before = try await everything(redis, prefix)
      do {
        try await meeting.operation(redis, prefix)
        Issue.record("the record was not refused")
      } catch let error as RedisError {
        #expect(error.isNewerRecord)
        #expect(error.description.contains("has version \(version), and this process reads 1: update this process"))
        #expect(error.description.contains(meeting.key.hasPrefix("webhook:") ? "ep" : meeting.key))
      }
      #expect(try await everything(redis, prefix) == before)
    }
  }

  @Test func `what a lease or a batch meets on its way is left alone without an error`() async throws {
    try await with { (redis, prefix) async throws in
      let store = PurchaseStore(redis, prefix: prefix)
      _ = try await redis.send(["SET", prefix + "transaction:1:100", "v2\u{1F}5\u{1F}9999999999999\u{1F}0"])
      _ = try await redis.send(["HSET", prefix + "sync:1:s", "recordVersion", "2", "status", "finalized", "job", "{}"])
      _ = try await redis.send(["ZADD", prefix + "open", "1", "1:s"])
      let before = try await everything(redis, prefix)
      #expect(
        try await store.renewLeases([(Self.job, Self.lease)], for: Self.hour, sweepAfter: Self.hour) == [false])
      try await store.told(Self.job)
      #expect(try await everything(redis, prefix) == before)
    }
  }

  @Test func `the sweep leaves newer records and newer jobs to a newer worker`() async throws {
    try await with { (redis, prefix) async throws in
      let store = PurchaseStore(redis, prefix: prefix)
      let newer = #"{"format":2,"transactionId":["100"]}"#
      for (id, fields) in [
        ("record", ["recordVersion", "2", "status", "processing", "job", newer]), ("other", ["recordVersion", "2"]),
        ("job", ["status", "processing", "job", newer]), ("broken", ["status", "processing", "job", "{"]),
      ] {
        _ = try await redis.send(["HSET", "\(prefix)sync:1:\(id)"] + fields)
        _ = try await redis.send(["ZADD", prefix + "open", "1", "1:\(id)"])
      }
      #expect(try await store.claim(Self.job, checksCustomer: false, sweepAfter: .zero) == .claimed)
      let due = try await store.dueJobs(limit: 10, lookAgainAfter: Self.hour)
      #expect(due == DueJobs(jobs: [Self.job], newer: 3, unreadable: 1))
      // The sweep looks at each of them again, later.
      #expect(try await redis.send(["ZCARD", prefix + "open"]).integer == 5)
      #expect(try await store.dueJobs(limit: 10, lookAgainAfter: Self.hour) == DueJobs())
    }
  }

  @Test func `a newer entry of a log is refused`() async throws {
    try await with { (redis, prefix) async throws in
      _ = try await redis.send(["XADD", prefix + "attempts:1:ep", "*", "recordVersion", "2", "event", "evt_1"])
      do {
        _ = try await DeliveryStore(redis, prefix: prefix).attempts(publisher: 1, endpoint: "ep", limit: 10)
        Issue.record("the entry was not refused")
      } catch let error as RedisError {
        #expect(error.isNewerRecord)
      }
    }
  }
}
