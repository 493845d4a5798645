import Formats
import Testing

@testable import Simulator

/// The rules, by value.
struct StoreDecisionTests {
  private let now: Int64 = 1_790_000_000_123
  private let day: Int64 = 86_400_000

  private func question(
    _ id: String, _ environment: StoreEnvironment = .production, earlierCalls: Int = 0
  ) -> StoreQuestion {
    let app = Simulator.App(bundleId: "com.example", appAppleId: 1, issuerId: "i", keyId: "K")
    return StoreQuestion(
      endpoint: .transactions, transactionId: id, environment: environment, app: app, earlierCalls: earlierCalls,
      now: now)
  }

  @Test func prefixesAreDistinctAndThreeDigits() {
    #expect(Set(Scenario.allCases.map(\.prefix)).count == Scenario.allCases.count)
    #expect(Scenario.allCases.allSatisfy { $0.prefix.count == 3 && !$0.summary.isEmpty })
    #expect(Scenario(transactionId: "10") == .notFound)
    #expect(Scenario(transactionId: "777123") == .notFound)
  }

  @Test func onlySlowWaits() {
    for scenario in Scenario.allCases {
      let decision = StoreDecision(question("\(scenario.prefix)1"))
      #expect(decision.delay == (scenario == .slow ? .seconds(3) : .zero))
    }
  }

  @Test func onceMeansOnce() {
    #expect(StoreDecision(question("1301")).answer == .failure(.rateLimited(until: now + 1000)))
    #expect(StoreDecision(question("1301", earlierCalls: 1)).answer == .purchase(.init(question("1301")), .genuine))
    #expect(StoreDecision(question("1311")).answer == .failure(.generalRetryable))
    #expect(StoreDecision(question("1311", earlierCalls: 1)).answer == .purchase(.init(question("1311")), .genuine))
    #expect((0...3).map { StoreDecision(question("1341", earlierCalls: $0)).isCutOff } == [true, true, false, false])
  }

  @Test func refundsAndRenewals() throws {
    struct NoPurchase: Error {}
    func purchase(_ weather: Simulator.Weather) throws -> StorePurchase {
      var decision = StoreDecision(question("1001"))
      #expect(decision.isUsual)
      decision.suffer(weather, .subscriptions, now: now)
      // A kept answer would show the purchase as it was.
      #expect(!decision.isUsual)
      guard case .purchase(let purchase, .genuine) = decision.answer else { throw NoPurchase() }
      let subscription = try #require(purchase.subscription)
      #expect(purchase.asked == subscription.latest && purchase.history == [subscription.latest])
      return purchase
    }
    let usual = StorePurchase(question("1001"))
    let refunded = try purchase(.refunded)
    #expect(refunded.asked.revocationDate == now && refunded.subscription?.status == .revoked)
    #expect(refunded.subscription?.renewal.autoRenewStatus == 0)
    let renewed = try purchase(.renewed(days: 30))
    #expect(renewed.asked.expiresDate == usual.asked.expiresDate.map { $0 + 30 * day })
    #expect(renewed.subscription?.renewal.renewalDate == renewed.asked.expiresDate)
    #expect(renewed.subscription?.status == .active)
  }

  @Test func environmentsChooseTheAnswer() {
    #expect(StoreDecision(question("1211")).answer == .failure(.transactionIdNotFound))
    #expect(StoreDecision(question("1221")).answer == .unauthorized)
    for id in ["1211", "1221"] {
      let asked = question(id, .sandbox)
      #expect(StoreDecision(asked).answer == .purchase(StorePurchase(asked), .genuine))
    }
    #expect(StorePurchase(question("1441")).asked.environment == "Sandbox")
    #expect(StorePurchase(question("1441", .sandbox)).asked.environment == "Production")
  }

  @Test func subscriptionsRunAroundToday() throws {
    let today = now - now % day
    let expiries: [(id: String, days: Int64)] = [("1001", 20), ("1011", -10), ("1031", -2), ("1041", -20)]
    for (id, days) in expiries {
      #expect(StorePurchase(question(id)).asked.expiresDate == today + days * day)
    }
    let grace = try #require(StorePurchase(question("1031")).subscription)
    #expect(grace.renewal.gracePeriodExpiresDate == today + 14 * day)
    #expect(grace.renewal.isInBillingRetryPeriod)
    #expect(StorePurchase(question("1061")).asked.inAppOwnershipType == "FAMILY_SHARED")
    #expect(StorePurchase(question("1431")).asked.bundleId == "com.example.other")
    #expect(StorePurchase(question("1101")).subscription == nil)
  }

  @Test func upgradeHasOneOriginal() {
    let purchase = StorePurchase(question("1051"))
    #expect(purchase.history.map(\.transactionId) == ["1051", "10591"])
    #expect(purchase.history.map(\.originalTransactionId) == ["1051", "1051"])
    #expect(purchase.history.map(\.isUpgraded) == [true, nil])
    #expect(StorePurchase(question("10591")).history == purchase.history)
    #expect(StorePurchase(question("10591")).asked == purchase.history[1])
  }

  @Test func tokenTimesHaveLimits() {
    let app = question("1001").app
    func refusal(_ issuedAt: Int64, _ expiresAt: Int64) -> BearerToken.Refusal? {
      BearerToken(app: app, issuedAt: issuedAt, expiresAt: expiresAt).refusal(at: 10_000)
    }
    #expect(refusal(10_060, 10_100) == nil)
    #expect(refusal(10_061, 10_100) == .issuedInFuture)
    #expect(refusal(9_000, 10_001) == nil)
    #expect(refusal(9_000, 10_000) == .expired)
    #expect(refusal(10_000, 13_600) == nil)
    #expect(refusal(10_000, 13_601) == .livesTooLong)
    #expect(refusal(.min, .max) == .livesTooLong)
  }

  @Test func longestUnusedIsForgotten() {
    var known = RecentlyUsed<Int, String>(capacity: 2)
    known.set("one", for: 1)
    known.set("two", for: 2)
    #expect(known[1] == "one")
    known.set("three", for: 3)
    #expect(known[2] == nil)
    #expect(known[1] == "one")
    known.set("uno", for: 1)
    known.set("four", for: 4)
    #expect(known[3] == nil)
    #expect(known[1] == "uno")
    #expect(known.count == 2)
  }

  @Test func logKeepsTheLastThousandCalls() {
    var log = CallLog()
    for number in 0..<1500 {
      log.record(
        CallLog.Call(
          time: Int64(number), environment: "sandbox", endpoint: "history", transactionId: "", status: 200))
    }
    #expect(log.report.calls.map(\.time) == Array(500..<1500))
    #expect(log.report.counts.map(\.count) == [1500])
  }
}
