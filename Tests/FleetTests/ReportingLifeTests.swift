import EventLoop
import Fleets
import Formats
import ServerSupport
import TestSupport
import Testing

/// The questions of docs/reference/reporting.md about lives that the simulator plays: a fleet gets Apple's
/// notifications, and the figures are known by hand.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ReportingLifeTests {
  private static let days = 86_400

  /// The lives, and how each begins. Their months are real ones: what was due since they began happens at once.
  private static let beginnings: [(name: String, body: String)] = [
    // Renewed twenty days ago: 9.99 a month.
    ("renewed", #""periodSeconds": \#(30 * days), "ageSeconds": \#(50 * days)"#),
    // 99.99 a year.
    ("year", #""product": "yearly", "periodSeconds": \#(365 * days), "ageSeconds": \#(100 * days)"#),
    // Its only period ended ten days ago.
    ("lapsed", #""autoRenews": false, "periodSeconds": \#(30 * days), "ageSeconds": \#(40 * days)"#),
    ("refunded", #""periodSeconds": \#(60 * days), "ageSeconds": \#(35 * days)"#),
    ("expired", #""periodSeconds": \#(60 * days), "ageSeconds": \#(45 * days)"#),
    ("upgraded", #""periodSeconds": \#(60 * days), "ageSeconds": \#(40 * days)"#),
    ("converted", #""trial": true, "periodSeconds": \#(30 * days), "ageSeconds": \#(20 * days)"#),
    ("tried", #""trial": true, "autoRenews": false, "periodSeconds": \#(30 * days), "ageSeconds": \#(15 * days)"#),
    ("new", #""periodSeconds": \#(30 * days)"#),
    ("coins", #""kind": "consumable", "ageSeconds": \#(5 * days)"#),
    // These two count nowhere.
    ("shared", #""familyShared": true, "periodSeconds": \#(30 * days), "ageSeconds": \#(50 * days)"#),
    ("sandbox", #""environment": "sandbox", "periodSeconds": \#(30 * days), "ageSeconds": \#(50 * days)"#),
  ]

  private static func id(_ name: String) -> String {
    "\(20_000_000_000_000 + (beginnings.firstIndex { $0.name == name } ?? 99))"
  }

  /// What happens to them now.
  private static let actions: [(name: String, action: String, body: String)] = [
    ("refunded", "refund", ""), ("coins", "refund", #"{"revocationPercentage": 50000}"#), ("sandbox", "refund", ""),
    ("expired", "expire", ""), ("upgraded", "upgrade", #"{"product": "yearly", "periodSeconds": \#(365 * days)}"#),
  ]

  @Test func `each question has the answer that is known from the lives`() async throws {
    // A lost or refused notification comes by the history.
    let overrides = ["COUNTERSIGN_WORKER_HISTORY_INTERVAL_SECONDS": "1"]
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: overrides, hasDoors: false) { fleet in
      let now = unixMilliseconds()
      try await fleet.postNotifications()
      try await fleet.begin(
        lives: Self.beginnings.map { #"{"originalTransactionId": "\#(Self.id($0.name))", \#($0.body)}"# })
      for each in Self.actions {
        #expect(try await fleet.act(each.action, on: Self.id(each.name), each.body), "\(each.name)")
      }
      try await eventually("everything that Apple told is applied") {
        let told = try await fleet.toldNotifications()
        return try await fleet.appliedNotifications() == told && told >= Self.beginnings.count + Self.actions.count
      }

      let month = (begins: now - 30 * .millisecondsOfDay, ends: now + .millisecondsOfDay)
      func answer(_ question: String) async throws -> [String] {
        let query = try #require(try ReportingPage().query(question))
          .replacing("2026-10-01 00:00Z", with: rfc3339(milliseconds: month.begins))
          .replacing("2026-11-01 00:00Z", with: rfc3339(milliseconds: month.ends))
          .replacing("publisher_id = 7", with: "publisher_id = \(RunningFleet.publisher)")
        return try await fleet.texts(
          "SELECT replace(trim(both '()' from row(a.*)::text), '\"', '') AS text FROM (\(query)) a")
      }
      // renewed, year, lapsed, refunded, expired and upgraded were paid for; lapsed, refunded and expired are lost.
      let churn = try await answer("Churn")
      #expect(churn == ["6,3,50.0"])
      // converted and tried.
      let trials = try await answer("Trials converted")
      #expect(trials == ["2,1,50.0"])
      // 9.99, and half of 1.99.
      let refunds = try await answer("Refunds")
      #expect(refunds == ["USD,2,10.985"])
      // renewed, converted and new: 9.99 each; year and upgraded: a twelfth of 99.99 each. Apple's notification about
      // the upgrade does not say that the first period is over.
      let mrr = try await answer("MRR")
      #expect(mrr == ["USA,USD,5,46.64"])
    }
  }
}
