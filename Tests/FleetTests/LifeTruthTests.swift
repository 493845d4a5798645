import EventLoop
import Formats
import HTTP
import Harness
import Simulator
import TestSupport
import Testing

/// Whatever happens to notifications and workers, every purchase ends in the state that Apple reports (promise 8).
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct LifeTruthTests {
  private static let count = 60

  private static func id(_ index: Int) -> String { "\(20_000_000_000_000 + index)" }
  private static func token(_ index: Int) -> String { "00000000-0000-4000-8000-\(100_000_000_000 + index)" }

  /// How a life gets its owner, if it gets one.
  private enum Way: Int, CaseIterable { case registered, token, nobody }
  private static func way(_ index: Int) -> Way { Way(rawValue: index % Way.allCases.count)! }
  /// Two lives belong to one customer.
  private static func customer(_ index: Int) -> Int64 { 100 + Int64(index / 6) * 3 + Int64(index % 3) }

  @Test func `lives end as Apple tells them, whatever is lost, late, repeated or killed`() async throws {
    let roles = ["gateway-1", "worker-1", "worker-2"]
    try await RunningFleet.with(
      roles, overrides: ["COUNTERSIGN_WORKER_HISTORY_INTERVAL_SECONDS": "1"], hasDoors: false,
      lifeMonth: .seconds(10),
      prepare: Self.leaveOneReader
    ) { fleet in
      var random = SeededRandom(seed: 20)
      try await fleet.postNotifications(
        """
        "lose": 0.1, "repeat": 0.1, "delay": {"share": 0.2, "maxSeconds": 3}, "shuffle": true, "seed": 20
        """)
      for index in 0..<Self.count { try await putCustomer(index, fleet) }
      try await fleet.begin(lives: (0..<Self.count).map { line($0, &random) })
      var registered: [String: Int] = [:]
      for round in 0..<6 {
        let before = try await fleet.toldNotifications()
        for _ in 0..<20 {
          let (action, body) = Self.actions.randomElement(using: &random)!
          try await fleet.act(action, on: Self.id(.random(in: 0..<Self.count, using: &random)), body)
        }
        for index in stride(from: round, to: Self.count, by: 6) where Self.way(index) == .registered {
          let answer = try await fleet.register(Self.id(index), customer: Self.customer(index), id: "r\(index)")
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
      let results = await fleet.finished(Set(registered.keys))
      let owned = results.filter { $0.result.exact == "PURCHASE_SYNCHRONIZED".exact }
      #expect(owned.count >= 5, "\(results.map(\.result))")
      for life in try await fleet.lives() { try await fleet.act("disable-renewal", on: life.originalTransactionId) }
      var differences: [String] = []
      do {
        try await eventually("the ledger is as Apple tells it", within: .seconds(300)) {
          differences = try await self.differences(fleet)
          return differences.isEmpty
        }
      } catch {
        Issue.record("\(differences.count) differences: \(differences.prefix(20).joined(separator: "\n"))")
        throw error
      }
      // Every way to an owner has led to one.
      for event in owned {
        let index = try #require(registered[event.synchronizationId])
        #expect(try await fleet.told(Self.id(index))?.customerId == String(Self.customer(index)))
      }
      for index in 0..<Self.count where Self.way(index) != .registered {
        let owner = Self.way(index) == .token ? String(Self.customer(index)) : nil
        #expect(try await fleet.told(Self.id(index))?.customerId == owner, "\(Self.id(index))")
      }
      for life in try await fleet.lives() {
        guard let previous = life.previousOriginalTransactionId else { continue }
        let (told, before) = (try await fleet.told(life.originalTransactionId), try await fleet.told(previous))
        #expect(told?.customerId == before?.customerId, "\(life.originalTransactionId) after \(previous)")
      }
      // A lost notification comes by the history only. A killed reader's lease ends first.
      try await eventually("everything that Apple told is applied", within: .seconds(300)) {
        let applied = try await fleet.appliedNotifications()
        return try await fleet.toldNotifications() == applied
      }
    }
  }

  // MARK: Making lives

  /// Leaves the app to the publisher that is compared.
  private static func leaveOneReader(_ fleet: RunningFleet) throws {
    try fleet.writePublisher(RunningFleet.openPublisher, "\"customers\": \"open\"")
  }

  private func putCustomer(_ index: Int, _ fleet: RunningFleet) async throws {
    // Only one of a customer's lives carries its token: the customer has one.
    let body = Self.way(index) == .token ? "{\"appAccountToken\": \"\(Self.token(tokenOwner(index)))\"}" : "{}"
    let answer = try await fleet.putCustomer(String(Self.customer(index)), body)
    #expect(answer.status == 200 || answer.status == 201, "\(String(decoding: answer.body, as: UTF8.self))")
  }

  /// The two lives of a customer have one token.
  private func tokenOwner(_ index: Int) -> Int { index - index % 6 + index % 3 }

  private func line(_ index: Int, _ random: inout SeededRandom) -> String {
    var members = ["\"originalTransactionId\": \"\(Self.id(index))\""]
    members.append("\"product\": \"\(Bool.random(using: &random) ? "monthly" : "yearly")\"")
    // Most lives move. Some are in the middle of their period at the end.
    members.append("\"periodMonths\": \([1, 1, 1, 2, 300].randomElement(using: &random)!)")
    if Bool.random(using: &random) { members.append("\"graceDays\": 16") }
    if Int.random(in: 0..<4, using: &random) == 0 { members.append("\"atEnd\": \"fail\"") }
    if Int.random(in: 0..<4, using: &random) == 0 { members.append("\"trial\": true") }
    if Self.way(index) == .token { members.append("\"appAccountToken\": \"\(Self.token(tokenOwner(index)))\"") }
    return "{\(members.joined(separator: ", "))}"
  }

  private static let actions = [
    ("renew", ""), ("fail", ""), ("fail", "{\"when\": \"end\"}"), ("recover", ""), ("end-grace", ""),
    ("expire", "{\"reason\": \"voluntary\"}"), ("upgrade", "{\"product\": \"yearly\", \"periodMonths\": 1}"),
    ("downgrade", "{\"product\": \"monthly\"}"), ("upgrade", "{\"separate\": true, \"periodMonths\": 1}"),
    ("disable-renewal", ""), ("enable-renewal", ""), ("extend", "{\"days\": 15}"), ("refund", ""), ("refund", ""),
    ("reverse", ""), ("renew", "{\"periodMonths\": 300}"),
  ].map { (action: $0.0, body: $0.1) }

  // MARK: Comparing

  /// Compares the ledger with the truth at one instant; while the truth changes, there is no such instant.
  private func differences(_ fleet: RunningFleet) async throws -> [String] {
    let lives = try await fleet.lives()
    var lines: [String] = []
    var owned: [String: [SimulatedLife]] = [:]
    for life in lives {
      guard let told = try await fleet.told(life.originalTransactionId) else {
        lines.append("\(life.originalTransactionId) is not in the ledger")
        continue
      }
      lines += told.differences(from: life)
      if let owner = told.customerId { owned[owner, default: []].append(life) }
    }
    for (customer, lives) in owned { lines += try await differences(of: customer, lives, fleet) }
    return try await fleet.lives() == lives ? lines : ["the truth has changed meanwhile"]
  }

  private func differences(
    of customer: String, _ lives: [SimulatedLife], _ fleet: RunningFleet
  ) async throws -> [String] {
    guard let told = try await fleet.entitlements(customer).body else { return ["\(customer) is unknown"] }
    var lines: [String] = []
    for (offer, product) in [("S1", "com.example.app.monthly"), ("S2", "com.example.app.yearly")] {
      let giving = lives.filter { $0.hasAccess && $0.productId.exact == product.exact }
      let until = giving.compactMap(\.accessUntil).max().map(rfc3339(milliseconds:))
      let row = told.entitlements.first { $0.offerId.exact == offer.exact }?.told
      let end = row?.accessGranted == true ? row?.expiresAt ?? "no end" : "no access"
      if end.exact != (until ?? "no access").exact {
        lines.append("\(customer): \(offer) has \(end), not \(until ?? "no access")")
      }
    }
    return lines
  }
}
