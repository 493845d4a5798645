import EventLoop
import Fleets
import HTTP
import Simulator
import TestSupport

extension Scenario {
  /// PostgreSQL restarts, dies, answers late, and moves to its standby. Two changes of one purchase or customer come at
  /// once.
  static let ledger: [Scenario] = [
    Scenario(name: "postgres-restart", what: "PostgreSQL restarted") { chaos in
      try await chaos.breakServer(.postgres, "restart") { try await $0.stop(.postgres) }
    },
    Scenario(name: "postgres-kill", what: "all processes of PostgreSQL killed with SIGKILL") { chaos in
      try await chaos.breakServer(.postgres, "kill") { try await $0.kill(.postgres) }
    },
    Scenario(
      name: "postgres-failover", what: "PostgreSQL killed for ever, its synchronous standby promoted",
      needsStandby: true, place: .both
    ) { chaos in
      let servers = TestServers.current!
      try await chaos.pause(1...1.5)
      chaos.injected("kill postgres")
      try await servers.kill(.postgres)
      try await chaos.pause(0.1...1)
      try await servers.promoteStandby()
      for name in Chaos.roles { try await chaos.fleet.ready(name) }
      try await chaos.loadEnds()
    },
    Scenario(
      name: "ledger-slow", what: "every answer of PostgreSQL 2 seconds late, for 30 seconds (quick: 5)",
      needsNetwork: true, leastSeconds: 40, expectations: Verdict.Expectations(leastDelay: 2000),
      inject: { chaos in
        guard let network = chaos.fleet.network else { return }
        try await chaos.pause(0.5...1)
        chaos.injected("answers of the ledger 2 s late")
        let links = network.links.filter { $0.to == "postgres" }
        for link in links { network[link].mode = .late(.seconds(2)) }
        try await EventLoop.sleep(for: .seconds(chaos.size.isQuick ? 5 : 30))
        for link in links { network[link].mode = .open }
        try await chaos.loadEnds()
      },
      heal: { $0.fleet.network?.heal() }),
    Scenario(
      name: "one-owner", what: "two customers register one purchase at once, by two transactions"
    ) { chaos in
      try await chaos.atOnce { try await chaos.registerForTwo($0) }
      try await chaos.loadEnds()
    },
    Scenario(
      name: "entitlements", what: "two purchases of one offer change at once", environment: asking,
      expectations: Verdict.Expectations(
        exceptions: [
          "change": ["PURCHASE_SYNCHRONIZED", "PURCHASE_REVOKED"],
          // The refund stays: its purchase has nothing to give when another customer registers it at the end.
          "again-1008": [Deserved.ofAnother.result, "PURCHASE_REVOKED"],
        ]), mayLoseAccess: true
    ) { chaos in
      try await chaos.atOnce { try await chaos.changeTwo($0) }
      try await chaos.loadEnds()
    },
  ]

  /// Every registration asks Apple.
  private static let asking = ["COUNTERSIGN_WORKER_ANSWER_REUSE_SECONDS": "0"]
}

extension Chaos {
  /// Does something 1,000 times (quick: 50), 25 at once.
  fileprivate func atOnce(_ race: @escaping @LoopActor (Int) async throws -> Void) async throws {
    var numbers = (0..<(size.isQuick ? 50 : 1000))[...]
    let lanes = (0..<25).map { _ in
      Task { @LoopActor in while let number = numbers.popFirst() { try await race(number) } }
    }
    for lane in lanes { try await lane.value }
  }

  /// Lets two customers register one purchase at the same time. No claim separates them, because each names another
  /// transaction of the purchase.
  fileprivate func registerForTwo(_ number: Int) async throws {
    injected("two customers for one purchase")
    let digits = 7_000_000 + number
    let first = [("owner-\(number)-a", "105\(digits)", 0), ("owner-\(number)-b", "1059\(digits)", 1)]
    // Sometimes the one comes first, sometimes the other.
    try await together(
      (number % 2 == 0 ? first : first.reversed()).map { id, transaction, which in
        (id, transaction, 10_000 + 2 * number + which)
      })
    // One is told that it has the offer, and the other that it has not. Both results follow from what they are told.
    let results = first.compactMap { told[$0.0] }
    guard Set(results.map(\.result)) == ["PURCHASE_SYNCHRONIZED", Deserved.ofAnother.result] else {
      throw ScenarioFailure(description: "two customers were told \(results.map(\.result))")
    }
    let purchase = try await fleet.purchase(
      "105\(digits)", environment: "Production", publisher: RunningFleet.openPublisher)
    let winner = results.first { $0.offer != nil }?.synchronizationId.suffix(1) == "a" ? 0 : 1
    guard purchase.body?.customerId == String(10_000 + 2 * number + winner) else {
      throw ScenarioFailure(
        description: "105\(digits) belongs to \(purchase.body?.customerId ?? "nobody"), told was \(winner)")
    }
  }

  /// Lets a customer's two purchases of one offer change at the same time: Apple refunds the one that gives access
  /// longest, and renews the other one.
  fileprivate func changeTwo(_ number: Int) async throws {
    let (customer, one, other) = (20_000 + number, "100\(8_000_000 + 2 * number)", "100\(8_000_001 + 2 * number)")
    fleet.simulator.localWeather[one] = [.renewed(days: 10)]
    try await together([("first-\(number)-a", one, customer), ("first-\(number)-b", other, customer)])
    injected("two purchases of one offer")
    fleet.simulator.localWeather[one] = [.refunded]
    fleet.simulator.localWeather[other] = [.renewed(days: 30)]
    let both = [("change-\(number)-a", one, customer), ("change-\(number)-b", other, customer)]
    try await together(number % 2 == 0 ? both : both.reversed())
  }

  /// Registers purchases at the same time at different gateways, and waits for their events.
  private func together(_ purchases: [(id: String, transaction: String, customer: Int)]) async throws {
    let answers = zip(purchases, Self.gateways).map { purchase, gateway in
      Task { @LoopActor in
        // The claim of a synchronization may end a moment after its event.
        let deadline = ContinuousClock.now + .patience
        while true {
          let answer = await self.register(purchase.id, purchase.transaction, gateway, customer: purchase.customer)
          guard answer == .conflict, ContinuousClock.now < deadline else { return answer }
          try? await EventLoop.sleep(for: .milliseconds(20))
        }
      }
    }
    for (answer, purchase) in zip(answers, purchases) {
      let answer = await answer.value
      guard answer == .accepted else {
        throw ScenarioFailure(description: "\(purchase.id) was not accepted: \(answer)")
      }
    }
    try await eventually("both are told") {
      purchases.allSatisfy { self.told[$0.id] != nil }
    }
  }
}
