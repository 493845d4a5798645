import Domain
import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import ServerSupport
import Simulator
import TestSupport
import Testing

/// Access while Apple is away (`grantWhileAppleIsAway`), through Cleeng's door at a whole fleet.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct AppleAwayTests {
  private static let away = #""grantWhileAppleIsAway": {"enabled": true},"#
  /// The jobs go on for as long as the test needs.
  private static let patient = [
    "COUNTERSIGN_WORKER_RETRY_SCHEDULE_SECONDS": Array(repeating: "0.2", count: 500).joined(separator: ",")
  ]

  private struct Entitlement: Decodable, Equatable {
    let accessGranted: Bool
    let rule: String
  }

  private func with(_ setting: String, _ body: @LoopActor (RunningFleet) async throws -> Void) async throws {
    try await RunningFleet.with(
      ["gateway-1", "worker-1"], overrides: Self.patient,
      prepare: { fleet in
        try fleet.writePublisher(
          1004,
          """
          "customers": "open", "apps": [\(RunningFleet.releasedApp)], "offers": \(RunningFleet.offers), \(setting)
          "doors": {"cleeng": {"enabled": true}}
          """)
      }, body)
  }

  private func pay(_ fleet: RunningFleet, _ transaction: String) async throws -> Int {
    let receipt = try fleet.simulator.receipt([transaction])
    return try await fleet.send(
      "POST", fleet.url("/apple/payment"), [("X-Publisher-Token", "token-1004"), ("Content-Type", "application/json")],
      """
      {"customerEmail":"\(transaction)@example.com","offerId":"S1",
       "receipt":{"transactionId":"\(transaction)","receiptData":"\(receipt)"}}
      """
    ).status
  }

  private func entitlement(_ fleet: RunningFleet, _ transaction: String) async throws -> Entitlement? {
    let answer = try await fleet.send(
      "GET", fleet.url("/customers/\(transaction)%40example.com/entitlements/S1"),
      [("X-Publisher-Token", "token-1004")])
    return try? JSONDecoder().decode(Entitlement.self, from: Data(answer.body))
  }

  @Test func `a receipt gives access until Apple answers, and Apple's answer decides`() async throws {
    try await with(Self.away) { fleet in
      let (active, unknown) = ("1000000000901", "1200000000902")
      fleet.simulator.weather = .failing
      #expect(try await pay(fleet, active) == 200)
      #expect(try await pay(fleet, unknown) == 200)
      let provisional = Entitlement(accessGranted: true, rule: "provisional")
      for transaction in [active, unknown] {
        try await eventually("\(transaction) has access for a time") {
          try await entitlement(fleet, transaction) == provisional
        }
      }
      fleet.simulator.weather = .fair
      try await eventually("Apple confirms") {
        try await entitlement(fleet, active) == Entitlement(accessGranted: true, rule: "subscriptionActive")
      }
      try await eventually("Apple denies") {
        try await entitlement(fleet, unknown) == Entitlement(accessGranted: false, rule: "unconfirmed")
      }
      #expect(try await fleet.ledgerDifferences() == [])
    }
  }

  @Test func `without the setting nobody has access before Apple has answered`() async throws {
    try await with("") { fleet in
      let transaction = "1000000000903"
      fleet.simulator.weather = .failing
      #expect(try await pay(fleet, transaction) == 200)
      try await eventually("Apple was asked again and again") {
        fleet.logged("\"event\":\"retrying\"").count > 20
      }
      #expect(try await entitlement(fleet, transaction)?.accessGranted == false)
      fleet.simulator.weather = .fair
      try await eventually("Apple has answered") {
        try await entitlement(fleet, transaction) == Entitlement(accessGranted: true, rule: "subscriptionActive")
      }
    }
  }
}
