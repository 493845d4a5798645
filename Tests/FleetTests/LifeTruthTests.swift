import EventLoop
import Fleets
import Formats
import HTTP
import ServerSupport
import TestSupport
import Testing

/// Whatever happens to notifications and workers, every purchase ends in the state that Apple reports (promise 8).
/// `ops/chaos lives` is the large form.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct LifeTruthTests {
  @Test func `lives end as Apple tells them, whatever is lost, late, repeated or killed`() async throws {
    let roles = ["gateway-1", "worker-1", "worker-2"]
    try await RunningFleet.with(
      roles, overrides: ["COUNTERSIGN_WORKER_HISTORY_INTERVAL_SECONDS": "1"], hasDoors: false,
      lifeMonth: .seconds(10),
      prepare: Self.leaveOneReader
    ) { fleet in
      var random = SeededRandom(seed: 20)
      let lives = RandomLives(count: 60)
      try await fleet.postNotifications(
        """
        "lose": 0.1, "repeat": 0.1, "delay": {"share": 0.2, "maxSeconds": 3}, "shuffle": true, "seed": 20
        """)
      for (customer, body) in lives.customers {
        let answer = try await fleet.putCustomer(customer, body)
        #expect(answer.status == 200 || answer.status == 201, "\(String(decoding: answer.body, as: UTF8.self))")
      }
      try await fleet.begin(lives: (0..<lives.count).map { lives.line($0, &random) })
      var registered: [String: Int] = [:]
      for round in 0..<6 {
        let before = try await fleet.toldNotifications()
        for _ in 0..<20 {
          let action = RandomLives.action(&random)
          try await fleet.act(action, on: lives.id(.random(in: 0..<lives.count, using: &random)))
        }
        for index in lives.registered where index % 6 == round {
          let answer = try await fleet.register(lives.id(index), customer: lives.customer(index), id: "r\(index)")
          #expect(answer.status == 202, "\(String(decoding: answer.body, as: UTF8.self))")
          registered["r\(index)"] = index
        }
        if round == 2 {
          await fleet.kill("worker-1")
          try fleet.start("worker-1")
        }
        try await eventually("lives go on by themselves") { try await fleet.toldNotifications() > before + 30 }
      }
      try await fleet.ready("worker-1")
      let results = try await fleet.finished(Set(registered.keys))
      let owned = results.filter { $0.result.isExactly("PURCHASE_SYNCHRONIZED") }
      #expect(owned.count >= 5, "\(results.map(\.result))")
      for life in try await fleet.lives() { try await fleet.act("disable-renewal", on: life.originalTransactionId) }
      var comparison = LifeComparison(fleet, lives)
      comparison.owned = Set(owned.compactMap { registered[$0.synchronizationId] })
      var differences: [String] = []
      do {
        try await untilNothingIsMissing("the ledger is as Apple tells it") {
          differences = try await comparison.differencesAtOneInstant()
          return differences
        }
      } catch {
        Issue.record("\(differences.count) differences: \(differences.prefix(20).joined(separator: "\n"))")
        for life in Set(differences.compactMap { $0.split(separator: " ").first.map(String.init) }).prefix(3) {
          Issue.record("\((try? await fleet.traces(of: life)) ?? "\(life) is no life")")
        }
        throw error
      }
      // A lost notification comes by the history only. A killed reader's lease ends first.
      try await untilNothingIsMissing("everything that Apple told is applied") {
        let applied = try await fleet.appliedNotifications()
        let told = try await fleet.toldNotifications()
        return (0..<abs(told - applied)).map { "notification \($0 + 1) of \(told) told and \(applied) applied" }
      }
    }
  }

  /// Leaves the app to the publisher that is compared.
  private static func leaveOneReader(_ fleet: RunningFleet) throws {
    try fleet.writePublisher(RunningFleet.openPublisher, "\"customers\": \"open\"")
  }
}
