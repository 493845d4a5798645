import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import ServerSupport
import TestSupport
import Testing

/// A publisher that tries the fleet beside the system that it uses.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ShadowTests {
  private static let overrides = ["COUNTERSIGN_RELOAD_SECONDS": "0.2"]
  private static let roles = ["gateway-1", "worker-1", "notifier-1"]

  private static func hide(_ fleet: RunningFleet) throws {
    try fleet.changePublisher { $0.replacing("\"apps\"", with: "\"mode\": \"shadow\", \"apps\"") }
  }

  @Test func `in shadow mode a purchase is verified and nobody is told, and later ones are told`() async throws {
    try await RunningFleet.with(Self.roles, overrides: Self.overrides, hasDoors: false, prepare: Self.hide) { fleet in
      #expect(try await fleet.register("1000000000001", id: "hidden").status == 202)
      try await eventually("it is verified") { try await fleet.status("hidden")?.status == "finalized" }
      #expect(try await fleet.status("hidden")?.accessGranted == true)
      let entitlements = try await fleet.entitlements("7").body
      #expect(entitlements?.entitlements.map(\.offerId) == ["S1"])
      // It is kept, for its readers by pull.
      #expect(try await fleet.count("events") == 2)
      #expect(try await fleet.count("outbox") == 0)
      #expect(try await fleet.count("deliveries") == 0)
      #expect(try await fleet.metric("worker-1", "countersign_shadow_events_total") == 2)

      // The other system gives access to somebody whom nobody has registered, and not to this customer.
      let file = fleet.folder + "/theirs.csv"
      let rows = [
        "customer_id,transaction_id,expires_at", "7,1000000000001,2020-01-01", "new,1000000000009,2099-01-01",
      ]
      let text = rows.map { $0 + "\n" }.joined()
      try Data(text.utf8).write(to: URL(filePath: file))
      let compared = try await fleet.command(
        ["shadow", "compare", "--publisher", "\(RunningFleet.publisher)", "--from", "plain", file])
      #expect(compared.contains(#""customerId":"7","verdict":"onlyHere""#), "\(compared)")
      #expect(compared.contains(#""why":"subscriptionActive","originalTransactionId":"1000000000001""#), "\(compared)")
      #expect(compared.contains(#""customerId":"new","verdict":"onlyThere""#), "\(compared)")
      #expect(compared.contains(#""why":"unknownPurchase""#), "\(compared)")

      try fleet.changePublisher { $0.replacing("\"mode\": \"shadow\"", with: "\"mode\": \"live\"") }
      try await fleet.reloaded(Self.roles, times: 1)
      #expect(try await fleet.putCustomer(8).status == 201)
      #expect(try await fleet.register("1000000000002", customer: 8, id: "told").status == 202)
      let events = try await fleet.finished(["told"])
      #expect(events.map(\.synchronizationId) == ["told"])
      let webhooks = try await fleet.webhooks.wait("that of the second purchase") { !$0.isEmpty }
      #expect(webhooks.allSatisfy { $0.told?.synchronizationId == "told" })
      #expect(fleet.changes.all.allSatisfy { $0.customerId == "8" })
    }
  }
}
