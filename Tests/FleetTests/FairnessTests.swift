import Coordination
import Domain
import EventLoop
import Fleets
import HTTP
import Redis
import ServerSupport
import Simulator
import TestSupport
import Testing

/// What one customer's many registrations cost others, and the limits that all gateways share.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct FairnessTests {
  @LoopActor
  private final class Calls {
    var order: [String] = []
  }

  private func redis<Result>(_ body: @LoopActor (RedisClient) async throws -> Result) async throws -> Result {
    let redis = RedisClient(TestServers.current!.redis)
    redis.start()
    try await eventually("Redis is there") { redis.isReady }
    let result = try await body(redis)
    await redis.stop()
    return result
  }

  private static let endpoints = ["transaction-info", "subscription-statuses"]
  private static let place = CallPlace(bundleId: "com.example.app", environment: "Production", budgets: [])

  /// Forbids all calls for the app in production, as 429s do, for longer than the test takes.
  private func forbid(_ fleet: RunningFleet) async throws {
    try await redis { redis in
      let budgets = CallBudgets(redis, prefix: fleet.prefix + ":")
      for endpoint in Self.endpoints { try await budgets.pause(Self.place, endpoint, for: .seconds(3600)) }
    }
  }

  /// Allows calls again.
  private func allow(_ fleet: RunningFleet) async throws {
    try await redis { redis in
      for endpoint in Self.endpoints {
        _ = try await redis.send(["HDEL", "\(fleet.prefix):budgets", "pause:\(Self.place.name.text)|\(endpoint)"])
      }
      _ = try await redis.send(["ZADD", "\(fleet.prefix):lines", "XX", "0", Self.place.name.text])
      _ = try await redis.send(["ZADD", "\(fleet.prefix):lines:bulk", "XX", "0", "\(Self.place.name.text)||bulk"])
    }
  }

  private func inLine(_ fleet: RunningFleet, _ line: String, _ count: Int) async throws {
    try await eventually("\(count) jobs are in the line \(line)") {
      try await redis { redis in
        try await redis.send(["HGET", "\(fleet.prefix):line:\(line)", "jobs"]).string == "\(count)"
      }
    }
  }

  @Test func `a customer's many jobs come one by one beside another customer's, with few deliveries`() async throws {
    // Five calls a second to each endpoint.
    try await RunningFleet.with(
      ["gateway-1", "worker-1"], overrides: ["COUNTERSIGN_APP_STORE_BUDGET_SCALE": "0.1"]
    ) { fleet in
      let calls = Calls()
      // The readings of the Notification History name no transaction.
      fleet.simulator.onCall = { if !$0.transactionId.isEmpty { calls.order.append($0.transactionId) } }
      try await forbid(fleet)
      let many = (100..<140).map { "1000000000\($0)" }
      for transaction in many {
        let answer = try await fleet.register(
          transaction, publisher: RunningFleet.openPublisher, id: "a\(transaction)")
        #expect(answer.status == 202)
      }
      let other = "1000000000900"
      let answer = try await fleet.register(other, customer: 8, publisher: RunningFleet.openPublisher, id: "b")
      #expect(answer.status == 202)
      try await inLine(fleet, Self.place.name.text, 41)
      try await allow(fleet)
      let events = try await fleet.finished(Set(many.map { "a\($0)" } + ["b"]))
      #expect(Set(events.map(\.result)) == ["PURCHASE_SYNCHRONIZED"])
      // Its turn is the second one. The calls of the first moment go out together, at most ten and a few.
      let place = try #require(calls.order.firstIndex(of: other))
      #expect(place < 15, "\(calls.order)")
      #expect(Set(calls.order).count == calls.order.count, "each is asked about once")
      // One delivery before the line, and one of the copy behind the end.
      try await eventually("every job is counted") {
        try await fleet.metric("worker-1", "countersign_job_deliveries_count") == 41
      }
      #expect(try await fleet.metric("worker-1", "countersign_job_deliveries_bucket{le=\"3\"}") == 41)
      fleet.simulator.onCall = { _ in }
    }
  }

  @Test func `a registration in bulk is finalized as any other, after the ones that somebody waits for`() async throws {
    try await RunningFleet.with(
      ["gateway-1", "worker-1"], overrides: ["COUNTERSIGN_APP_STORE_BUDGET_SCALE": "0.1"]
    ) { fleet in
      let calls = Calls()
      fleet.simulator.onCall = { if !$0.transactionId.isEmpty { calls.order.append($0.transactionId) } }
      try await forbid(fleet)
      let many = (100..<120).map { "1000000000\($0)" }
      for transaction in many {
        #expect(try await fleet.register(transaction, id: "a\(transaction)", priority: "u=7").status == 202)
      }
      try await inLine(fleet, "\(Self.place.name.text)||bulk", 20)
      let other = "1000000000900"
      #expect(try await fleet.register(other, id: "b").status == 202)
      try await inLine(fleet, Self.place.name.text, 1)
      try await allow(fleet)
      let events = try await fleet.finished(Set(many.map { "a\($0)" } + ["b"]))
      #expect(Set(events.map(\.result)) == ["PURCHASE_SYNCHRONIZED"])
      // Two calls of one moment may arrive in any order.
      #expect(calls.order.prefix(2).contains(other), "\(calls.order)")
      #expect(Set(calls.order).count == calls.order.count, "each is asked about once")
      fleet.simulator.onCall = { _ in }
    }
  }

  @Test func `whoever registers a purchase that an import holds does not wait for the import`() async throws {
    try await RunningFleet.with(
      ["gateway-1", "worker-1"], overrides: ["COUNTERSIGN_APP_STORE_BUDGET_SCALE": "0.1"]
    ) { fleet in
      try await forbid(fleet)
      let many = (100..<120).map { "1000000000\($0)" }
      for transaction in many {
        #expect(try await fleet.register(transaction, id: "a\(transaction)", priority: "u=7").status == 202)
      }
      try await inLine(fleet, "\(Self.place.name.text)||bulk", 20)
      #expect(try await fleet.register(many[19], id: "again", priority: "u=7").status == 409)
      #expect(try await fleet.register(many[19], id: "person").status == 202)
      try await inLine(fleet, Self.place.name.text, 1)
      try await allow(fleet)
      let events = try await fleet.finished(Set(many.map { "a\($0)" } + ["person"]))
      #expect(Set(events.map(\.result)) == ["PURCHASE_SYNCHRONIZED"])
      let order = events.map(\.synchronizationId)
      #expect(try #require(order.firstIndex(of: "person")) < #require(order.firstIndex(of: "a\(many[19])")))
    }
  }

  @Test func `a publisher whose calls hang leaves a place to others`() async throws {
    try await RunningFleet.with(
      ["gateway-1", "worker-1"],
      overrides: ["COUNTERSIGN_WORKER_CONCURRENCY": "4", "COUNTERSIGN_APP_STORE_TIMEOUT_SECONDS": "300"]
    ) { fleet in
      let calls = Calls()
      fleet.simulator.onCall = { if !$0.transactionId.isEmpty { calls.order.append($0.transactionId) } }
      fleet.simulator.weather = .slow(.seconds(3600))
      for number in 100..<120 {
        #expect(try await fleet.register("1000000000\(number)", publisher: RunningFleet.openPublisher).status == 202)
      }
      try await eventually("the calls hang") { calls.order.count == 4 }
      // All others of the publisher are in the line, and none at the broker.
      try await inLine(fleet, Self.place.name.text, 16)
      fleet.simulator.weather = .fair
      let other = "1000000000900"
      #expect(try await fleet.register(other, id: "b").status == 202)
      #expect(try await fleet.finished(["b"]).map(\.result) == ["PURCHASE_SYNCHRONIZED"])
      #expect(calls.order.dropFirst(4).allSatisfy { $0 == other }, "\(calls.order)")
      fleet.simulator.onCall = { _ in }
    }
  }

  @Test func `a customer's open synchronizations count at all gateways, and their end makes room`() async throws {
    try await RunningFleet.with(
      ["gateway-1", "gateway-2"], overrides: ["COUNTERSIGN_GATEWAY_LIMITS_OPEN_PER_CUSTOMER": "2"]
    ) { fleet in
      #expect(try await fleet.register("1000000000001", id: "a", gateway: "gateway-1").status == 202)
      #expect(try await fleet.register("1000000000002", id: "b", gateway: "gateway-2").status == 202)
      for gateway in ["gateway-1", "gateway-2"] {
        let answer = try await fleet.register("1000000000003", id: "c", gateway: gateway)
        #expect(answer.status == 429 && answer.header("retry-after") != nil)
        #expect(String(decoding: answer.body, as: UTF8.self).contains("LIM0003"))
        #expect(try await fleet.metric(gateway, "countersign_limited_total{limit=\"customer_open\"}") == 1)
      }
      // Another publisher's customer of the same id is another customer.
      let other = try await fleet.register("1000000000004", publisher: RunningFleet.openPublisher, id: "d")
      #expect(other.status == 202)
      try fleet.start("worker-1")
      _ = try await fleet.finished(["a", "b", "d"])
      try await eventually("there is room") {
        try await fleet.register("1000000000003", id: "c", gateway: "gateway-2").status == 202
      }
      _ = try await fleet.finished(["c"])
    }
  }

  @Test func `a token that reads too often is told so, with the time to wait`() async throws {
    try await RunningFleet.with(
      ["gateway-1"], overrides: ["COUNTERSIGN_GATEWAY_LIMITS_READS_PER_SECOND": "1"]
    ) { fleet in
      let path = "/storekit2/purchases/synchronizations/none"
      var answers: [Int] = []
      // One in ten seconds is free, and then one a second.
      while answers.last != 429, answers.count < 1000 {
        answers.append(try await fleet.send("GET", fleet.url(path), fleet.headers(RunningFleet.publisher)).status)
      }
      #expect(answers.count > 2 && answers.dropLast().allSatisfy { $0 == 404 })
      let refused = try await fleet.send("GET", fleet.url(path), fleet.headers(RunningFleet.publisher))
      if refused.status == 429 {
        #expect(String(decoding: refused.body, as: UTF8.self).contains("LIM0005"))
        #expect(refused.header("retry-after") == "1")
      }
    }
  }
}
