import Crypto
import Domain
import EventLoop
import Fleets
import Formats
import Glibc
import HTTP
import HTTPServer
import JSON
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Notifications of Apple's that are about no purchase.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct NoticeTests {
  @Test func `withdrawn consent and a due token are told, and an unknown type is counted`() async throws {
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(["gateway-1", "worker-1", "notifier-1"], hasDoors: false) { fleet async throws in
        _ = try await WebhookAPIClient(fleet: fleet).create(
          #""url":"\#(receiver.url("a"))","topics":["consentRescinded","externalPurchaseTokenDue"]"#)
        // The customer buys, and the app transaction of the purchase leads to the customer.
        #expect(try await fleet.register("1000000000000042", id: "s1").status == 202)
        try await eventually("the customer owns the purchase") {
          try await fleet.count("purchases WHERE customer_id = '7'") == 1
        }
        let consent = try await post(fleet, "RESCIND_CONSENT")
        let token = try await post(fleet, "EXTERNAL_PURCHASE_TOKEN&subtype=CREATED")
        _ = try await post(fleet, "NEW_TYPE_OF_APPLES")
        // An empty text is none.
        _ = try await post(fleet, "TEST&subtype=")
        // Apple's repeat.
        #expect(try await send(fleet, consent) == 200)

        let got = try await receiver.wait("a", for: 2).map { String(decoding: $0.request.body, as: UTF8.self) }
        let told = try #require(got.first { $0.contains("\"topic\":\"consentRescinded\"") })
        #expect(told.contains("\"customerId\":\"7\""), "\(told)")
        #expect(told.contains("\"appTransactionId\":\"704"), "\(told)")
        let due = try #require(got.first { $0.contains("\"topic\":\"externalPurchaseTokenDue\"") })
        for part in [
          #""externalPurchaseId":""#, #""subtype":"CREATED""#, #""tokenType":"SERVICES""#, #""expiresAt":""#,
        ] {
          #expect(due.contains(part), "\(due)")
        }
        try await eventually("all are applied") {
          try await fleet.count("notifications WHERE applied_at IS NULL") == 0
        }
        // Two publishers have the app. The unknown type brings evidence all the same.
        try await eventually("all are counted") {
          try await fleet.metric("worker-1", "countersign_notifications_applied_total{outcome=\"told\"}") >= 4
        }
        #expect(try await fleet.metric("worker-1", "countersign_unknown_notifications_total") >= 2)
        #expect(receiver.got("a").count == 2 && token != consent)
      }
    }
  }

  @Test func `what its publisher's file does not name is put off, and applied when the file names it`() async throws {
    func write(_ fleet: RunningFleet, _ app: String) throws {
      try fleet.writePublisher(1009, "\"apps\": [\(app)], \"offers\": \(RunningFleet.offers)")
    }
    func writeOther(_ fleet: RunningFleet) throws {
      try write(fleet, RunningFleet.releasedApp.replacing("com.example.app", with: "com.example.other"))
    }
    try await RunningFleet.with(["gateway-1", "worker-1"], hasDoors: false, prepare: writeOther) { fleet async throws in
      let text = try await fleet.minted("notification/1000000000000042?type=DID_RENEW")
      let payload = Base64URL.decode(String(text.split(separator: ".")[1])) ?? []
      let uuid = try JSONObject(JSONText(payload)).requiredString("notificationUUID")
      try await change(
        fleet,
        """
        INSERT INTO notifications (publisher_id, uuid, type, environment, bundle_id, signed_date, received_at, source,
          body, due_at)
        VALUES (1009, '\(uuid)', 'DID_RENEW', 'Production', 'com.example.app', now(), now() - interval '20 minutes',
          'apple', convert_to('\(text)', 'UTF8'), now())
        """)
      try await eventually("it waits for as long as it has waited") {
        try await fleet.count("notifications WHERE due_at > now() + '15m'") == 1
      }
      try write(fleet, RunningFleet.releasedApp)
      fleet.roles["worker-1"]?.process.send(SIGHUP)
      try await eventually("it is applied") {
        // The worker may take it before it has read the file.
        try await change(fleet, "UPDATE notifications SET due_at = now() WHERE applied_at IS NULL")
        return try await fleet.count("notifications WHERE is_news") == 1
      }
    }
  }

  /// Apple's id of the app is 0 in an app transaction of the sandbox, also beside a notification that names the id.
  @Test func `consent that is withdrawn in the sandbox is told`() async throws {
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(["gateway-1", "worker-1", "notifier-1"], hasDoors: false) { fleet async throws in
        _ = try await WebhookAPIClient(fleet: fleet).create(
          #""url":"\#(receiver.url("a"))","topics":["consentRescinded"]"#)
        #expect(try await fleet.register("1210000000042", id: "s1").status == 202)
        try await eventually("the customer owns the purchase") {
          try await fleet.count("purchases WHERE customer_id = '7'") == 1
        }
        let text = try await fleet.minted("notification/1210000000042?type=RESCIND_CONSENT")
        let appData = try JSONText(Base64URL.decode(String(text.split(separator: ".")[1])) ?? [])
          .decoded(as: JSONValue.self)
        #expect("\(appData)".contains("1234567890"))
        #expect(try await send(fleet, text) == 200)
        let told = try #require(try await receiver.wait("a", for: 1).first)
        let body = String(decoding: told.request.body, as: UTF8.self)
        #expect(body.contains("\"customerId\":\"7\"") && body.contains("\"environment\":\"Sandbox\""), "\(body)")
      }
    }
  }

  private func change(_ fleet: RunningFleet, _ sql: String) async throws {
    try await fleet.withLedger { ledger in
      _ = try await ledger.run(PostgresQuery(PostgresStatement("change notifications", sql)))
    }
  }

  private func post(_ fleet: RunningFleet, _ type: String) async throws -> String {
    let text = try await fleet.minted("notification/1000000000000042?type=\(type)")
    #expect(try await send(fleet, text) == 200, "\(type)")
    return text
  }

  private func send(_ fleet: RunningFleet, _ text: String) async throws -> Int {
    try await fleet.send(
      "POST", fleet.url("/apple/notifications"), [("Content-Type", "application/json")],
      "{\"signedPayload\":\"\(text)\"}"
    ).status
  }
}
