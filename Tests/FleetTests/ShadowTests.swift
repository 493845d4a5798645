import AMQP
import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import JSON
import Messaging
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

  private static func show(_ fleet: RunningFleet) throws {
    try fleet.changePublisher { $0.replacing("\"apps\"", with: "\"mode\": \"live\", \"apps\"") }
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

      // The same by its webhook bodies: the last one about the purchase says that it is over.
      let bodies = [
        #"{"event":{"type":"EXPIRATION","event_timestamp_ms":1600000000000,"app_user_id":"7","store":"APP_STORE","#
          + #""original_transaction_id":"1000000000001","expiration_at_ms":1590000000000}}"#,
        #"{"event":{"type":"RENEWAL","event_timestamp_ms":1500000000000,"app_user_id":"7","store":"APP_STORE","#
          + #""original_transaction_id":"1000000000001","expiration_at_ms":4070908800000}}"#,
      ]
      let recorded = fleet.folder + "/webhooks.jsonl"
      try Data(bodies.map { $0 + "\n" }.joined().utf8).write(to: URL(filePath: recorded))
      let told = try await fleet.command(
        ["shadow", "compare", "--publisher", "\(RunningFleet.publisher)", "--from", "revenuecat-webhooks", recorded])
      #expect(
        told.contains(
          #"{"customerId":"7","verdict":"onlyHere","differences":[{"offerId":"S1","there":false,"here":true}]"#),
        "\(told)")
      #expect(told.contains(#""line":1,"transactionId":"1000000000001","claimedExpiry":"2020-05-20T"#), "\(told)")
      #expect(
        told.contains(
          #""decidingTransactionId":"1000000000001","productId":"com.example.app.monthly","expiresDate":""#), "\(told)")

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

  /// What is owed to an endpoint and to a subscriber when the publisher goes back to its old system.
  @Test func `after the change to shadow mode nobody gets what was owed, and later only who asks`() async throws {
    let overrides = Self.overrides.merging([
      "COUNTERSIGN_EVENTS_SUBSCRIBERS": "billing",
      "COUNTERSIGN_NOTIFIER_RETRY_SCHEDULE_SECONDS": Array(repeating: "1", count: 600).joined(separator: ","),
    ]) { $1 }
    try await RunningFleet.with(Self.roles, overrides: overrides, hasDoors: false, prepare: Self.show) { fleet in
      fleet.mayRepair = true
      fleet.webhookStatus = { _ in 500 }
      let queue = try await FullQueue(of: "billing", in: fleet)

      #expect(try await fleet.register("1000000000001", id: "owed").status == 202)
      #expect(try await fleet.finished(["owed"]).map(\.synchronizationId) == ["owed"])
      try await eventually("the ledger owes it to the subscriber") { try await fleet.count("owed_events") >= 1 }
      _ = try await fleet.webhooks.wait("the endpoint fails") { !$0.isEmpty }

      try fleet.changePublisher { $0.replacing("\"mode\": \"live\"", with: "\"mode\": \"shadow\"") }
      try await fleet.reloaded(Self.roles, times: 1)
      // The queue is still full, and the endpoint still fails: nobody has taken anything.
      try await eventually("the subscriber is owed nothing") { try await fleet.count("owed_events") == 0 }
      try await eventually("no delivery waits") { try await fleet.count("deliveries") == 0 }
      let api = WebhookAPIClient(fleet: fleet)
      let skipped = try await api.send("GET", "webhook_endpoints/main/attempts?outcome=skipped").list("attempts")
      #expect(!skipped.isEmpty)
      #expect(skipped.allSatisfy { $0.text("error") == "the publisher is in shadow mode" }, "\(skipped)")

      let before = fleet.webhooks.all.count
      fleet.webhookStatus = { _ in 200 }
      let billing = try await queue.replace()
      try fleet.changePublisher { $0.replacing("\"mode\": \"shadow\"", with: "\"mode\": \"live\"") }
      try await fleet.reloaded(Self.roles, times: 2)
      #expect(try await fleet.putCustomer(8).status == 201)
      #expect(try await fleet.register("1000000000002", customer: 8, id: "told").status == 202)
      let told = { (webhook: RunningFleet.Webhook) in webhook.told?.synchronizationId == "told" }
      _ = try await fleet.webhooks.wait("the new one at the endpoint") { $0.dropFirst(before).contains(where: told) }
      try await billing.wait { $0.contains("told") }
      #expect(Set(billing.all) == ["told"])
      #expect(!fleet.webhooks.all.dropFirst(before).contains { $0.told?.synchronizationId == "owed" })

      // Nothing is lost: whoever wants what was skipped asks for it.
      let recovered = try await api.send("POST", "webhook_endpoints/main/recover", #"{"since":0}"#)
      #expect(recovered.status == 202 && recovered["recovered"] == .integer(Int64(skipped.count)))
      _ = try await fleet.webhooks.wait("the skipped one") {
        $0.dropFirst(before).contains { $0.told?.synchronizationId == "owed" }
      }
      try await queue.close()
    }
  }

  @Test func `in shadow mode a person's test is sent`() async throws {
    try await RunningFleet.with(Self.roles, overrides: Self.overrides, hasDoors: false, prepare: Self.hide) { fleet in
      let answer = try await WebhookAPIClient(fleet: fleet).send("POST", "webhook_endpoints/main/test")
      let event = try #require(answer.text("eventId"))
      let webhooks = try await fleet.webhooks.wait("the test") { !$0.isEmpty }
      #expect(webhooks.map(\.id) == [event])
    }
  }
}
