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

/// Which calls to Apple a synchronization makes, and how many.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct CallTests {
  /// Runs a fleet of one worker and notes the endpoints that the worker calls for each transaction.
  private func with(
    _ overrides: [String: String] = [:], _ body: @LoopActor (RunningFleet, Calls) async throws -> Void
  ) async throws {
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: overrides) { fleet in
      let calls = Calls()
      fleet.simulator.onCall = { calls.made[$0.transactionId, default: []].append($0.endpoint) }
      try await body(fleet, calls)
      fleet.simulator.onCall = { _ in }
    }
  }

  @LoopActor
  private final class Calls {
    var made: [String: [String]] = [:]
  }

  private func synchronize(_ transactions: [String], _ ids: String, at fleet: RunningFleet) async throws -> [String] {
    try await register(transactions, ids, at: fleet)
    return try await finished(transactions, ids, at: fleet)
  }

  private func register(_ transactions: [String], _ ids: String, at fleet: RunningFleet) async throws {
    for transaction in transactions {
      let answer = try await fleet.register(transaction, id: "\(ids)\(transaction)")
      #expect(answer.status == 202, "\(transaction) \(String(decoding: answer.body, as: UTF8.self))")
    }
  }

  /// Waits until the synchronizations have ended; returns their results.
  private func finished(_ transactions: [String], _ ids: String, at fleet: RunningFleet) async throws -> [String] {
    let wanted = Set(transactions.map { ids + $0 })
    let events = try await fleet.finished(wanted)
    return transactions.map { transaction in
      events.first { $0.synchronizationId == ids + transaction }?.result ?? ""
    }
  }

  // The simulator's names of the endpoints.
  private let info = "transactions"
  private let statuses = "subscriptions"

  @Test func `one call proves an active purchase of any kind, and a second one looks for what came after`() async throws
  {
    try await with { (fleet, calls) async throws in
      let active = ["100", "106", "110", "111", "112"].map { $0 + "0000000001" }
      let proven = try await synchronize(active, "a", at: fleet)
      #expect(Set(proven) == ["PURCHASE_SYNCHRONIZED"])
      for transaction in active { #expect(calls.made[transaction] == [info]) }
      // In its grace period, upgraded, expired: the transaction alone does not tell.
      let others = ["103", "105", "101"].map { $0 + "0000000001" }
      let results = try await synchronize(others, "b", at: fleet)
      #expect(results == ["PURCHASE_SYNCHRONIZED", "PURCHASE_SYNCHRONIZED", "RECEIVED_EXPIRED_PURCHASE"])
      for transaction in others { #expect(calls.made[transaction] == [info, statuses]) }
    }
  }

  @Test func `an answer that gave access a moment ago is not asked for again`() async throws {
    try await with(["COUNTERSIGN_WORKER_ANSWER_REUSE_SECONDS": "60"]) { (fleet, calls) async throws in
      for round in ["a", "b", "c"] {
        let results = try await synchronize(["1000000000001", "1010000000001"], round, at: fleet)
        #expect(results == ["PURCHASE_SYNCHRONIZED", "RECEIVED_EXPIRED_PURCHASE"])
      }
      #expect(calls.made["1000000000001"] == [info])
      // A purchase that gives no access may give some by now, so no earlier answer covers it.
      #expect(calls.made["1010000000001"]?.count == 6)
      let events = fleet.events.all.filter { $0.synchronizationId.hasSuffix("1000000000001") }
      let versions = events.map(\.version)
      // The purchase has not changed since the first commit.
      #expect(versions == [1, 1, 1])
      let status = try await fleet.status("c1000000000001")
      #expect(status?.offerId == "S1")
    }
  }

  private static let places = [Environment.production, .sandbox].map { environment in
    CallPlace(bundleId: "com.example.app", environment: environment, budgets: [])
  }

  private func redis(_ body: @LoopActor (RedisClient) async throws -> Void) async throws {
    let redis = RedisClient(TestServers.current!.redis)
    redis.start()
    try await eventually("Redis is there") { redis.isReady }
    try await body(redis)
    await redis.stop()
  }

  /// Forbids calls to an endpoint for a time, as a 429 does.
  private func forbid(_ endpoint: String, for time: Duration, at fleet: RunningFleet) async throws {
    try await redis { redis in
      let budgets = CallBudgets(redis, prefix: fleet.prefix + ":")
      for place in Self.places { try await budgets.pause(place, endpoint, for: time) }
    }
  }

  /// Allows calls to an endpoint again, also those of the jobs that wait for it.
  private func allow(_ endpoint: String, at fleet: RunningFleet) async throws {
    try await redis { redis in
      for place in Self.places {
        let line = "\(place.name.text)|\(endpoint)"
        _ = try await redis.send(["HDEL", "\(fleet.prefix):budgets", "pause:\(line)"])
        // The workers know the old time, and would not look at the line before.
        _ = try await redis.send(["ZADD", "\(fleet.prefix):lines", "XX", "0", line])
      }
    }
  }

  @Test func `while one endpoint may not be called, the other one answers what it can`() async throws {
    try await with { (fleet, calls) async throws in
      // For longer than the test takes.
      try await forbid("transaction-info", for: .seconds(3600), at: fleet)
      // The statuses name these by their first or latest transaction.
      let named = ["100", "101", "102", "103", "104", "105", "106", "141"].map { $0 + "0000000001" }
      let expected = [
        "PURCHASE_SYNCHRONIZED", "RECEIVED_EXPIRED_PURCHASE", "PURCHASE_REVOKED", "PURCHASE_SYNCHRONIZED",
        "RECEIVED_EXPIRED_PURCHASE", "PURCHASE_SYNCHRONIZED", "PURCHASE_SYNCHRONIZED", "VERIFICATION_FAILED",
      ]
      let found = try await synchronize(named, "a", at: fleet)
      #expect(found == expected)
      for transaction in named { #expect(calls.made[transaction] == [statuses], "\(transaction)") }
      // The statuses do not name these. That proves nothing: neither that there is no purchase, nor that there is one.
      let others = ["110", "111", "112", "120", "121"].map { $0 + "0000000001" } + ["1010000000002"]
      fleet.simulator.localWeather[others[5]] = [.unnamed]
      try await register(others, "b", at: fleet)
      try await eventually("the statuses have been asked for") { others.allSatisfy { calls.made[$0] == [statuses] } }
      try await allow("transaction-info", at: fleet)
      let results = try await finished(others, "b", at: fleet)
      #expect(
        results == [
          "PURCHASE_SYNCHRONIZED", "PURCHASE_SYNCHRONIZED", "PURCHASE_SYNCHRONIZED", "TRANSACTION_ID_NOT_FOUND",
          "PURCHASE_SYNCHRONIZED", "RECEIVED_EXPIRED_PURCHASE",
        ])
      // The last one is a subscription. The statuses do not name it, and the worker does not ask for them again.
      for transaction in others[0...2] + [others[5]] {
        #expect(calls.made[transaction] == [statuses, info], "\(transaction)")
      }
    }
  }

  @Test func `what Get Transaction Info has told is not asked for again while the statuses may not be called`()
    async throws
  {
    try await with { (fleet, calls) async throws in
      try await forbid("subscription-statuses", for: .seconds(6), at: fleet)
      // Upgraded, expired, and expired with statuses that name no subscription.
      let transactions = ["1050000000001", "1010000000001", "1010000000002"]
      fleet.simulator.localWeather[transactions[2]] = [.unnamed]
      let results = try await synchronize(transactions, "a", at: fleet)
      #expect(results == ["PURCHASE_SYNCHRONIZED", "RECEIVED_EXPIRED_PURCHASE", "RECEIVED_EXPIRED_PURCHASE"])
      for transaction in transactions { #expect(calls.made[transaction] == [info, statuses], "\(transaction)") }
      // The kept answers end with the job: the next job asks anew.
      let again = try await synchronize([transactions[2]], "b", at: fleet)
      #expect(again == ["RECEIVED_EXPIRED_PURCHASE"])
      #expect(calls.made[transactions[2]]?.count == 4)
    }
  }

  @Test func `a budget that is short makes wait, and no round asks what another one has asked`() async throws {
    // Three calls a second to each endpoint in production, and one in three seconds in the sandbox.
    try await with(["COUNTERSIGN_APP_STORE_BUDGET_SCALE": "0.06", "COUNTERSIGN_WORKER_NOT_FOUND_RETRIES": "0"]) {
      (fleet, calls) async throws in
      let unnamed = (0..<8).map { "101000000000\($0)" }
      for transaction in unnamed { fleet.simulator.localWeather[transaction] = [.unnamed] }
      let elsewhere = (0..<2).map { "121000000000\($0)" }
      let unknown = (0..<2).map { "120000000000\($0)" }
      let results = try await synchronize(unnamed + elsewhere + unknown, "a", at: fleet)
      #expect(Set(results[0..<8]) == ["RECEIVED_EXPIRED_PURCHASE"])
      #expect(Set(results[8..<10]) == ["PURCHASE_SYNCHRONIZED"])
      #expect(Set(results[10...]) == ["TRANSACTION_ID_NOT_FOUND"])
      // Each endpoint once, in the order in which the budgets admitted them.
      for transaction in unnamed { #expect(calls.made[transaction]?.sorted() == [statuses, info], "\(transaction)") }
      // At most four calls: in each environment the statuses, which prove nothing, and the transaction.
      for transaction in elsewhere + unknown {
        #expect(calls.made[transaction, default: []].count <= 4, "\(transaction): \(calls.made[transaction] ?? [])")
      }
    }
  }

  @Test func `what the statuses do not know yet is asked for again, and gives nothing until then`() async throws {
    try await with { (fleet, calls) async throws in
      // In its grace period, and upgraded. The transaction alone says expired for the first, and would grant the old
      // product for the second.
      let late = ["103", "105"].map { $0 + "0000000001" }
      for transaction in late { fleet.simulator.localWeather[transaction] = [.behind] }
      for transaction in late {
        let answer = try await fleet.register(transaction, id: "a\(transaction)")
        #expect(answer.status == 202)
      }
      try await eventually("both have been asked for") { late.allSatisfy { calls.made[$0, default: []].count >= 2 } }
      for transaction in late {
        let status = try await fleet.status("a\(transaction)")
        #expect(status?.status != "finalized")
      }
      fleet.simulator.localWeather = [:]
      let events = try await fleet.finished(Set(late.map { "a" + $0 }))
      #expect(Set(events.map(\.result)) == ["PURCHASE_SYNCHRONIZED"])
      let upgraded = try await fleet.status("a" + late[1])
      #expect(upgraded?.offerId == "S2")
    }
  }
}
