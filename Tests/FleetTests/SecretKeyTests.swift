import Crypto
import EventLoop
import Fleets
import Formats
import HTTP
import HTTPServer
import JSON
import ServerSupport
import TestSupport
import Testing

/// Endpoints whose secrets are encrypted in the ledger, and roles that have the keys or lack them.
@Suite(
  .runningFleet,
  .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct SecretKeyTests {
  private static func file(_ name: String) -> [String: String] { ["COUNTERSIGN_LEDGER_KEYS_FILE": name] }

  /// Restarts a role with another file of keys.
  private func restart(_ fleet: RunningFleet, _ role: String, with keys: String) async throws {
    await fleet.kill(role)
    try fleet.start(role, with: Self.file(keys))
  }

  private func ready(_ fleet: RunningFleet, _ role: String) async throws -> (status: Int, text: String) {
    let answer = try await fleet.send("GET", "http://\(fleet.roles[role]!.address)/readyz")
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  @Test func `without the key, deliveries wait, unsigned and lost none, and the key is named`() async throws {
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(
        ["gateway-1", "notifier-1"], overrides: Self.file("old.json"),
        prepare: { fleet in
          try fleet.writeKeys("old.json", ["2025"])
          try fleet.writeKeys("new.json", ["2026"])
          try fleet.writeKeys("both.json", ["2026", "2025"])
        }
      ) { fleet async throws in
        let api = WebhookAPIClient(fleet: fleet)
        let old = try await api.create(#""url":"\#(receiver.url("old"))","topics":["inappPurchaseSyncResult"]"#)
        try await fleet.publish(["evt_1"])
        #expect(try await receiver.first("old", of: "evt_1").isSigned(with: old.secret))

        // A notifier that got a file without the old key says so, and is not ready.
        try await restart(fleet, "notifier-1", with: "new.json")
        let lacks = "secret keys: ledger.keysFile lacks the key 2025, which secrets in the ledger need"
        try await eventually("the notifier names the key") {
          try await fleet.listens("notifier-1")
          let now = try await ready(fleet, "notifier-1")
          return now.status == 503 && now.text.contains("not ready: \(lacks)")
        }
        try await fleet.publish(["evt_2"])
        let put = "countersign_secrets_unreadable_total{cause=\"missing_key\"}"
        try await eventually("the delivery is put off") { try await fleet.metric("notifier-1", put) >= 1 }
        let lines = fleet.log("notifier-1").split(separator: "\n").filter { $0.contains("\"keyId\":\"2025\"") }
        #expect(lines.contains { $0.contains("delivery put off") && $0.contains(old.id) && $0.contains("evt_2") })
        #expect(!receiver.got("old").contains { $0.id == "evt_2" })
        #expect(try await fleet.metric("notifier-1", "countersign_webhook_secrets{state=\"missing\"}") == 1)

        // Such a gateway stays ready, since purchases need no key. It neither shows nor changes what it cannot read.
        try await restart(fleet, "gateway-1", with: "new.json")
        try await fleet.ready("gateway-1")
        let degraded = try await ready(fleet, "gateway-1")
        #expect(degraded.status == 200, "\(degraded)")
        #expect(
          degraded.text.contains("degraded: secret keys: ledger.keysFile lacks a key that secrets in the ledger need"),
          "anybody may read this, so it names no key: \(degraded)")
        #expect(fleet.log("gateway-1").contains("ledger.keysFile lacks the key 2025, which secrets in the ledger need"))
        let change = try await api.send("PATCH", "webhook_endpoints/\(old.id)", #"{"name":"x"}"#)
        #expect(change.status == 503, "\(change.body)")
        #expect(try await api.send("GET", "webhook_endpoints/\(old.id)").status == 200)

        // Both keys: everything comes, signed. A new endpoint is under the new key.
        for role in ["gateway-1", "notifier-1"] {
          try await restart(fleet, role, with: "both.json")
          try await fleet.ready(role)
        }
        #expect(try await receiver.first("old", of: "evt_2").isSigned(with: old.secret))
        let new = try await api.create(#""url":"\#(receiver.url("new"))","topics":["inappPurchaseSyncResult"]"#)
        try await fleet.publish(["evt_3"])
        #expect(try await receiver.first("new", of: "evt_3").isSigned(with: new.secret))
        #expect(try await receiver.first("old", of: "evt_3").isSigned(with: old.secret))
        #expect(fleet.logged(old.secret).isEmpty)
      }
    }
  }

  @Test func `a fleet with plain secrets gets keys, and misses no delivery`() async throws {
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(["gateway-1", "notifier-1"], overrides: Self.file("")) { fleet async throws in
        let api = WebhookAPIClient(fleet: fleet)
        let members = #""url":"\#(receiver.url("a"))","topics":["inappPurchaseSyncResult"]"#
        let plain = try await api.create(members)
        try await fleet.publish(["evt_1"])
        #expect(try await receiver.first("a", of: "evt_1").isSigned(with: plain.secret))

        // Notifiers come first: they read both forms.
        try await restart(fleet, "notifier-1", with: "keys.json")
        try await fleet.ready("notifier-1")
        #expect(try await fleet.metric("notifier-1", "countersign_webhook_secrets{state=\"plain\"}") == 1)
        #expect(fleet.log("notifier-1").contains("secrets in the ledger are plain text: run countersign rekey"))
        try await fleet.publish(["evt_2"])
        #expect(try await receiver.first("a", of: "evt_2").isSigned(with: plain.secret))

        let rekey = try ChildProcess(
          Repository.products + "/countersign", ["rekey", "--config", fleet.folder + "/countersign.json"],
          environment: [:], output: fleet.folder + "/rekey.log")
        let status = try await rekey.ended()
        #expect(status == 0)
        // A gateway that nobody has given the file stores no other secret.
        #expect(try await api.send("POST", "webhook_endpoints", "{\(members)}").status == 503)
        try await restart(fleet, "gateway-1", with: "keys.json")
        try await fleet.ready("gateway-1")
        let sealed = try await api.create(#""url":"\#(receiver.url("b"))","topics":["inappPurchaseSyncResult"]"#)

        try await restart(fleet, "notifier-1", with: "keys.json")
        try await fleet.ready("notifier-1")
        #expect(try await fleet.metric("notifier-1", "countersign_webhook_secrets{state=\"current\"}") == 2)
        try await fleet.publish(["evt_3"])
        #expect(try await receiver.first("a", of: "evt_3").isSigned(with: plain.secret))
        #expect(try await receiver.first("b", of: "evt_3").isSigned(with: sealed.secret))

        // Every secret is sealed now, so the fleet refuses a plain one that somebody writes into the table.
        await fleet.kill("notifier-1")
        let foreign = Base64.encode(Array(repeating: 7, count: 32))
        try await fleet.execute(
          """
          UPDATE webhook_endpoints SET secrets_key = NULL, secrets = convert_to('[{"key":"\(foreign)"}]', 'UTF8')
          WHERE id = '\(plain.id)'
          """)
        let strict = ["COUNTERSIGN_LEDGER_REFUSES_PLAIN_SECRETS": "true"]
        try fleet.start("notifier-1", with: Self.file("keys.json").merging(strict) { $1 })
        try await fleet.ready("notifier-1")
        #expect(fleet.log("notifier-1").contains("which ledger.refusesPlainSecrets forbids: run countersign rekey"))
        try await fleet.publish(["evt_4"])
        #expect(try await receiver.first("b", of: "evt_4").isSigned(with: sealed.secret))
        let put = "countersign_secrets_unreadable_total{cause=\"plain_text\"}"
        try await eventually("the delivery is put off") { try await fleet.metric("notifier-1", put) >= 1 }
        #expect(!receiver.got("a").contains { $0.id == "evt_4" })
      }
    }
  }

  @Test(.breakingServers)
  func `a file that drops a key in use is refused while roles run, until rekey has made it free`() async throws {
    let live = Self.file("live.json").merging(["COUNTERSIGN_RELOAD_SECONDS": "0.2"]) { $1 }
    try await WebhookReceiver.with { receiver async throws in
      try await RunningFleet.with(
        ["gateway-1", "notifier-1", "worker-1"], overrides: live,
        prepare: { fleet in
          try fleet.writeKeys("live.json", ["2025"])
          try fleet.writeKeys("both.json", ["2026", "2025"])
        }
      ) { fleet async throws in
        func current(_ role: String, _ value: Double) async throws {
          try await eventually("\(role): \(value)") {
            try await fleet.metric(role, "countersign_configuration_current") == value
          }
        }
        let api = WebhookAPIClient(fleet: fleet)
        let endpoint = try await api.create(#""url":"\#(receiver.url("a"))","topics":["inappPurchaseSyncResult"]"#)

        try fleet.writeKeys("live.json", ["2026"])
        let cause = "ledger.keysFile no longer contains the key 2025, and secrets in the ledger need it"
        for role in ["gateway-1", "notifier-1"] {
          try await current(role, 0)
          let lines = fleet.log(role).split(separator: "\n").filter { $0.contains("configuration not reloaded") }
          #expect(lines.contains { $0.contains(cause) }, "\(role): \(lines)")
        }
        try await fleet.publish(["evt_1"])
        #expect(try await receiver.first("a", of: "evt_1").isSigned(with: endpoint.secret))
        let notifier = try await ready(fleet, "notifier-1")
        #expect(notifier.status == 200 && !notifier.text.contains("secret keys: "), "\(notifier)")
        #expect(try await ready(fleet, "gateway-1").text.contains("ok: secret keys"))

        // The old file counts again at once.
        try fleet.writeKeys("live.json", ["2025"])
        for role in ["gateway-1", "notifier-1"] { try await current(role, 1) }

        // While the ledger is away, nobody knows whether secrets need the key. When it is back, it says so.
        try await TestServers.current!.kill(.postgres)
        try fleet.writeKeys("live.json", ["2026"])
        let unknown =
          "ledger.keysFile no longer contains the key 2025, and the ledger cannot be asked whether secrets need it"
        for role in ["gateway-1", "notifier-1"] {
          try await eventually("\(role) cannot ask") { fleet.log(role).contains(unknown) }
          try await current(role, 0)
        }
        try await TestServers.current!.start(.postgres)
        for role in ["gateway-1", "notifier-1"] {
          try await eventually("\(role) has asked") {
            fleet.log(role).split(separator: "\n").count { $0.contains(cause) } == 2
          }
          try await current(role, 0)
        }

        // Nobody touches the file again: the roles notice by themselves that nothing needs the old key.
        let rekey = try ChildProcess(
          Repository.products + "/countersign", ["rekey", "--config", fleet.folder + "/countersign.json"],
          environment: Self.file("both.json"), output: fleet.folder + "/rekey.log")
        #expect(try await rekey.ended() == 0)
        for role in ["gateway-1", "notifier-1"] { try await current(role, 1) }
        try await fleet.publish(["evt_2"])
        #expect(try await receiver.first("a", of: "evt_2").isSigned(with: endpoint.secret))
        #expect(try await fleet.metric("worker-1", "countersign_configuration_reloads_total{outcome=\"refused\"}") == 0)
      }
    }
  }
}
