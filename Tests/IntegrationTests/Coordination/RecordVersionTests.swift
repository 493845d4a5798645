import Coordination
import Domain
import EventLoop
import Fleets
import Redis
import ServerSupport
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
    synchronizationId: "s", publisherId: 1, customerId: "7", transactionId: "100", registeredAt: 1)
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

  private nonisolated static func meeting(
    _ key: String, isHash: Bool = true, _ name: String,
    _ operation: @escaping @LoopActor @Sendable (CoordinationOnRedis) async throws -> Void
  ) -> Meeting {
    Meeting(key, isHash: isHash, name) { try await operation(CoordinationOnRedis($0, prefix: $1)) }
  }

  private nonisolated static let meetings: [Meeting] = [
    meeting("sync:1:s", "status") { _ = try await $0.open.synchronization(1, "s") },
    meeting("sync:1:s", "claim") { _ = try await $0.claims.take(job, checksCustomer: false, sweepAfter: hour) },
    meeting("sync:1:s", "prolong") { _ = try await $0.claims.prolong(job) },
    meeting("sync:1:s", "undo") { _ = try await $0.claims.undo(job) },
    meeting("sync:1:s", "lease") { _ = try await $0.leases.take(job, for: hour, sweepAfter: hour) },
    meeting("claim:1:100", isHash: false, "claim") {
      _ = try await $0.claims.take(job, checksCustomer: false, sweepAfter: hour)
    },
    meeting("claim:1:100", isHash: false, "prolong") { _ = try await $0.claims.prolong(job) },
    meeting("claim:1:100", isHash: false, "lease") { _ = try await $0.leases.take(job, for: hour, sweepAfter: hour) },
    meeting("transaction:1:100", isHash: false, "lease") {
      _ = try await $0.leases.take(job, for: hour, sweepAfter: hour)
    },
    meeting("transaction:1:100", isHash: false, "release") {
      try await $0.leases.release(job, lease, isRetrying: true, sweepAfter: hour, route: nil)
    },
    meeting("customer:1:7", isHash: false, "claim") {
      _ = try await $0.claims.take(job, checksCustomer: true, sweepAfter: hour)
    },
  ]

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
      ])
    } else {
      _ = try await redis.send(["SET", prefix + meeting.key, "v\(version)\u{1F}5\u{1F}0\u{1F}0"])
    }
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
        // A customer's id may be an e-mail address, and errors are logged.
        let isCustomer = meeting.key.hasPrefix("customer:")
        #expect(error.description.contains(isCustomer ? "the copy of a customer" : meeting.key))
        #expect(!isCustomer || !error.description.contains(meeting.key))
      }
      #expect(try await everything(redis, prefix) == before)
    }
  }

  @Test func `what a renewal or an end meets on its way is left alone without an error`() async throws {
    try await with { (redis, prefix) async throws in
      let at = CoordinationOnRedis(redis, prefix: prefix)
      _ = try await redis.send(["SET", prefix + "transaction:1:100", "v2\u{1F}5\u{1F}9999999999999\u{1F}0"])
      _ = try await redis.send(["HSET", prefix + "sync:1:s", "recordVersion", "2", "status", "processing", "job", "{}"])
      _ = try await redis.send(["SET", prefix + "claim:1:100", "v2\u{1F}7|s"])
      _ = try await redis.send(["ZADD", prefix + "open", "1", "1:s"])
      let before = try await everything(redis, prefix)
      #expect(
        try await at.leases.renew([(Self.job, Self.lease)], for: Self.hour, sweepAfter: Self.hour) == [false])
      try await at.leases.finalize(FinalizedJob(job: Self.job, fence: 5, route: "app|Sandbox"))
      try await at.claims.end(Self.job.claim, 1, transaction: "100")
      #expect(try await everything(redis, prefix) == before)
    }
  }

  @Test func `an end leaves the newer record of a transaction and of a claim, and takes the rest out`()
    async throws
  {
    try await with { (redis, prefix) async throws in
      let at = CoordinationOnRedis(redis, prefix: prefix)
      #expect(try await at.claims.take(Self.job, checksCustomer: false, sweepAfter: Self.hour) == .claimed)
      _ = try await redis.send(["SET", prefix + "transaction:1:100", "v2\u{1F}5\u{1F}9999999999999\u{1F}0"])
      _ = try await redis.send(["SET", prefix + "claim:1:100", "v2\u{1F}7|s"])
      let before = try await everything(redis, prefix)
      try await at.leases.finalize(FinalizedJob(job: Self.job, fence: 5, route: "app|Sandbox"))
      let after = try await everything(redis, prefix)
      for key in ["transaction:1:100", "claim:1:100"] { #expect(after[prefix + key] == before[prefix + key]) }
      #expect(after[prefix + "open"] == nil)
      #expect(try await at.open.synchronization(1, "s")?.status == .finalized)
    }
  }

  @Test func `the sweep leaves newer records and newer jobs to a newer worker`() async throws {
    try await with { (redis, prefix) async throws in
      let at = CoordinationOnRedis(redis, prefix: prefix)
      let newer = #"{"format":4,"transactionId":["100"]}"#
      for (id, fields) in [
        ("record", ["recordVersion", "2", "status", "processing", "job", newer]), ("other", ["recordVersion", "2"]),
        ("job", ["status", "processing", "job", newer]), ("broken", ["status", "processing", "job", "{"]),
      ] {
        _ = try await redis.send(["HSET", "\(prefix)sync:1:\(id)"] + fields)
        _ = try await redis.send(["ZADD", prefix + "open", "1", "1:\(id)"])
      }
      #expect(try await at.claims.take(Self.job, checksCustomer: false, sweepAfter: .zero) == .claimed)
      let due = try await at.open.dueJobs(limit: 10, lookAgainAfter: Self.hour, doors: DoorCatalog())
      #expect(due == DueJobs(jobs: [DueJob(Self.job)], newer: 3, unreadable: 1))
      // The sweep looks at each of them again, later.
      #expect(try await redis.send(["ZCARD", prefix + "open"]).integer == 5)
      #expect(try await at.open.dueJobs(limit: 10, lookAgainAfter: Self.hour, doors: DoorCatalog()) == DueJobs())
    }
  }
}
