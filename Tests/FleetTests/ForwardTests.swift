import Domain
import EventLoop
import Fleets
import HTTP
import HTTPServer
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Apple's notifications on their way to further URLs of a publisher's.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ForwardTests {
  /// Runs a fleet whose publisher passes notifications on: all to `a`, all to `b`, those of the sandbox to `sandbox`.
  private func with(
    _ roles: [String] = ["gateway-1", "notifier-1"], overrides: [String: String] = [:],
    _ body: @LoopActor (RunningFleet, WebhookReceiver) async throws -> Void
  ) async throws {
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(
        roles, overrides: overrides, hasDoors: false,
        prepare: { fleet in
          try fleet.writePublisher(
            RunningFleet.publisher,
            """
            "apps": [\(RunningFleet.app)], "offers": \(RunningFleet.offers),
            "notifications": {"forwardTo": [
              {"url": "\(receiver.url("a"))"}, {"url": "\(receiver.url("b"))"},
              {"url": "\(receiver.url("sandbox"))", "environment": "Sandbox"}]}
            """)
        }
      ) { fleet async throws in
        try await body(fleet, receiver)
      }
    }
  }

  /// A body that Apple posts, as nobody else would write it.
  private func posted(_ fleet: RunningFleet, _ id: String, _ query: String = "") async throws -> String {
    let text = try await fleet.minted("notification/\(id)?type=DID_RENEW\(query)")
    return "{ \"signedPayload\" :\t\"\(text)\", \"more\": [1] }\n"
  }

  private func post(_ fleet: RunningFleet, _ body: String) async throws -> Int {
    try await fleet.send(
      "POST", fleet.url("/apple/notifications"), [("Content-Type", "application/json")], body
    ).status
  }

  private static let sweepsOften = [
    "COUNTERSIGN_NOTIFIER_SWEEP_INTERVAL_SECONDS": "0.5", "COUNTERSIGN_NOTIFIER_SWEEP_AFTER_SECONDS": "1",
    "COUNTERSIGN_WORKER_HISTORY_INTERVAL_SECONDS": "1",
  ]

  private static func count(_ outcome: String) -> String {
    "countersign_notification_forwards_total{outcome=\"\(outcome)\"}"
  }

  @Test func `two systems get what Apple posted, although one is down at first`() async throws {
    try await with { (fleet, receiver) async throws in
      receiver.answers["b"] = { number in .text(number < 2 ? 503 : 204, "") }
      let bodies = [
        try await posted(fleet, "1000000000000001"), try await posted(fleet, "1000000000000002"),
      ]
      for body in bodies + bodies { #expect(try await post(fleet, body) == 200) }
      let forged = try await posted(fleet, "1000000000000003", "&seal=foreignRoot")
      #expect(try await post(fleet, forged) == 400)
      let foreign = try await posted(fleet, "1430000000000001")
      #expect(try await post(fleet, foreign) == 400)

      let (a, b) = (try await receiver.wait("a", for: 2), try await receiver.wait("b", for: 3))
      #expect(Set(a.map(\.request.body)) == Set(bodies.map { Array($0.utf8) }))
      #expect(Set(b.map(\.request.body)) == Set(bodies.map { Array($0.utf8) }))
      #expect(a.allSatisfy { $0.request.header("content-type") == "application/json" })
      #expect(Set(a.compactMap { $0.request.header("countersign-notification-id") }).count == 2)
      #expect(a.allSatisfy { $0.signature.isEmpty && $0.id.isEmpty })
      try await eventually("nothing is owed any more") { try await fleet.count("deliveries") == 0 }
      #expect(try await fleet.metric("notifier-1", Self.count("delivered")) == 4)
      #expect(try await fleet.metric("notifier-1", Self.count("failed")) == 1)
      #expect(receiver.got("a").count == 2 && receiver.got("b").count == 3 && receiver.got("sandbox").isEmpty)
      // They are no webhooks.
      #expect(
        try await fleet.metric("notifier-1", "countersign_webhook_attempts_total{outcome=\"delivered\"}") == 0)
    }
  }

  @Test func `a system that says 410 loses that notification only, and no person has to look after it`() async throws {
    try await with { (fleet, receiver) async throws in
      receiver.answers["a"] = { number in .text(number == 1 ? 410 : 200, "") }
      #expect(try await post(fleet, try await posted(fleet, "1000000000000001")) == 200)
      _ = try await receiver.wait("a", for: 1)
      try await eventually("it is counted") { try await fleet.metric("notifier-1", Self.count("abandoned")) == 1 }
      #expect(try await post(fleet, try await posted(fleet, "1000000000000002")) == 200)
      _ = try await receiver.wait("a", for: 2)
      _ = try await receiver.wait("b", for: 2)
      try await eventually("nothing is owed any more") { try await fleet.count("deliveries") == 0 }
      for metric in [
        "countersign_dead_deliveries_total{reason=\"abandoned\"}",
        "countersign_webhook_endpoints_disabled_total{reason=\"gone\"}",
      ] {
        #expect(try await fleet.metric("notifier-1", metric) == 0)
      }
    }
  }

  @Test func `what the broker loses is passed on all the same, and given up after a day`() async throws {
    try await with(overrides: Self.sweepsOften) { (fleet, receiver) async throws in
      receiver.answers["b"] = { _ in .text(500, "") }
      fleet.mayRepair = true
      try await fleet.withLedger { ledger in
        // As after a crash between the commit and the message.
        let publisher = RunningFleet.publisher
        let (url, down) = (
          NotificationForward(url: receiver.url("a")).id, NotificationForward(url: receiver.url("b")).id
        )
        // The file let it get everything when the notification came.
        let narrowed = NotificationForward(url: receiver.url("sandbox")).id
        let past = "now() - interval '1 hour'"
        _ = try await ledger.run(
          PostgresQuery(
            PostgresStatement(
              "test notification",
              """
              INSERT INTO notifications (publisher_id, uuid, type, environment, bundle_id, signed_date, source, body)
              VALUES (\(publisher), 'lost', 'TEST', 'Production', 'com.example.app', now(), 'apple', 'e.y.J')
              """)))
        _ = try await ledger.run(
          PostgresQuery(
            PostgresStatement(
              "test forwards",
              """
              INSERT INTO deliveries (event_id, endpoint_id, publisher_id, due_at, attempt) VALUES
                ('ntf_\(publisher)_lost', '\(url)', \(publisher), \(past), 1),
                ('ntf_\(publisher)_gone', '\(url)', \(publisher), \(past), 1),
                ('ntf_\(publisher)_lost', 'fwd_gone', \(publisher), \(past), 1),
                ('ntf_\(publisher)_lost', '\(narrowed)', \(publisher), \(past), 1),
                ('ntf_\(publisher)_lost', '\(down)', \(publisher), \(past), 11)
              """)))
      }
      #expect(try await receiver.wait("a", for: 1)[0].request.body == Array(#"{"signedPayload":"e.y.J"}"#.utf8))
      try await eventually("nothing is owed any more") { try await fleet.count("deliveries") == 0 }
      try await eventually("what cannot be passed on is counted") {
        try await fleet.metric("notifier-1", Self.count("dropped")) == 3
      }
      try await eventually("the last attempt is counted") {
        try await fleet.metric("notifier-1", Self.count("abandoned")) == 1
      }
      #expect(receiver.got("b").count == 1 && receiver.got("sandbox").isEmpty)
      #expect(try await fleet.metric("notifier-1", "countersign_dead_deliveries_total") == 0)
    }
  }

  @Test func `what Apple could not deliver is passed on when the history has it`() async throws {
    try await with(["gateway-1", "worker-1", "notifier-1"], overrides: Self.sweepsOften) {
      (fleet, receiver) async throws in
      // No message carries what a reading has found: a sweep passes it on.
      fleet.sweptWays = [.deliveries]
      try await fleet.postNotifications("\"lose\": 1")
      try await fleet.begin(lives: ["{\"originalTransactionId\": \"20000000000001\", \"kind\": \"nonConsumable\"}"])
      let got = try await receiver.wait("a", for: 1)[0].request
      let text = String(decoding: got.body, as: UTF8.self)
      #expect(text.hasPrefix("{\"signedPayload\":\"eyJ") && text.hasSuffix("\"}"))
      _ = try await receiver.wait("b", for: 1)
      try await eventually("nothing is owed any more") { try await fleet.count("deliveries") == 0 }
      // The next readings find it, too.
      let complete = "countersign_history_readings_total{outcome=\"complete\"}"
      let before = try await fleet.metric("worker-1", complete)
      try await eventually("readings go on") { try await fleet.metric("worker-1", complete) > before + 3 }
      #expect(receiver.got("a").count == 1 && receiver.got("b").count == 1)
    }
  }
}
