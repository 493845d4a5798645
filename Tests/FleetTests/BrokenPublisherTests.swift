import Domain
import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import HTTPClient
import ServerSupport
import TestSupport
import Testing

/// A publisher's file with a mistake beside good ones, at whole roles.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct BrokenPublisherTests {
  private static let overrides = ["COUNTERSIGN_RELOAD_SECONDS": "0.2"]
  private static let mistake = "\"customers\": \"closed\", "

  /// Puts a mistake into the file of the first publisher, or takes it out again.
  private func setMistake(_ isThere: Bool, _ fleet: RunningFleet) throws {
    try fleet.changePublisher {
      isThere
        ? $0.replacing("{\"publisherId\"", with: "{\(Self.mistake)\"publisherId\"")
        : $0.replacing(Self.mistake, with: "")
    }
  }

  private func broken(_ role: String, _ state: String, _ fleet: RunningFleet) async throws -> Double {
    try await fleet.metric(role, "countersign_publishers_broken{state=\"\(state)\"}")
  }

  private func code(_ answer: HTTPClientResponse) -> String? {
    struct Body: Decodable { let code: String }
    return try? JSONDecoder().decode(Body.self, from: Data(answer.body)).code
  }

  @Test func `at a start its callers come again, its jobs and webhooks wait, and nobody else notices`() async throws {
    try await RunningFleet.with(["gateway-1"], overrides: Self.overrides) { fleet in
      #expect(try await fleet.register("1000000000001", id: "waits").status == 202)
      try setMistake(true, fleet)
      try await eventually("the gateway keeps the publisher") { try await broken("gateway-1", "kept", fleet) == 1 }
      #expect(try await fleet.register("1100000000002", id: "waits-too").status == 202)

      for role in ["gateway-2", "worker-1"] { try fleet.start(role) }
      for role in ["gateway-2", "worker-1"] { try await fleet.ready(role) }
      #expect(try await broken("gateway-2", "absent", fleet) == 1)
      // Our own API, the doors, and Apple.
      let refused = try await fleet.register("1000000000003", id: "later", gateway: "gateway-2")
      #expect(refused.status == 503 && code(refused) == "PUB0001" && refused.header("Retry-After") == "30")
      let stranger = try await fleet.send(
        "GET", fleet.url("/customers/7", gateway: "gateway-2"), [("X-Publisher-Token", "a stranger's")])
      #expect(stranger.status == 401)
      let mbaasy = try await fleet.send(
        "POST", fleet.url("/client/itunes_connect/receipts", gateway: "gateway-2"),
        [("Authorization", "Bearer \(RunningFleet.mbaasyClientToken)")], "{}")
      #expect(mbaasy.status == 503 && mbaasy.header("Retry-After") == "30")
      let path = "/v1/validate?appName=\(RunningFleet.iapticAppName)&apiKey=\(RunningFleet.iapticAPIKey)"
      let iaptic = try await fleet.send("POST", fleet.url(path, gateway: "gateway-2"), [], "{}")
      #expect(String(decoding: iaptic.body, as: UTF8.self).contains("6778002"))
      let apple = try await fleet.send(
        "POST",
        fleet.url(
          "/1.0/in_app/subscriptions/apple/status_update_notification/\(RunningFleet.publisher)", gateway: "gateway-2"),
        [], "{}")
      #expect(apple.status == 503 && apple.header("Retry-After") == "30")

      let retries = "countersign_job_retries_total{cause=\"publisher_broken\"}"
      try await eventually("both jobs wait") { try await fleet.metric("worker-1", retries) >= 2 }
      let open = RunningFleet.openPublisher
      #expect(
        try await fleet.register("1000000000004", publisher: open, id: "other", gateway: "gateway-2").status == 202)
      #expect(try await fleet.finished(["other"]).map(\.result) == ["PURCHASE_SYNCHRONIZED"])
      #expect(try await fleet.status("waits")?.status != "finalized")
      let readiness = try await fleet.send("GET", fleet.url("/readyz", gateway: "worker-1"))
      #expect(readiness.status == 200)
      #expect(
        String(decoding: readiness.body, as: UTF8.self)
          .contains("degraded: publishers: mistakes in \(RunningFleet.publisher).json (absent)"))
      #expect(fleet.log("worker-1").contains("expected one of registered, open"))

      try setMistake(false, fleet)
      #expect(Set(try await fleet.finished(["waits", "waits-too"]).map(\.result)) == ["PURCHASE_SYNCHRONIZED"])
      try await eventually("gateway-2 serves it") {
        try await fleet.register("1000000000003", id: "later", gateway: "gateway-2").status == 202
      }
      #expect(Set(try await fleet.finished(["later"]).map(\.result)) == ["PURCHASE_SYNCHRONIZED"])
      for role in ["gateway-1", "gateway-2", "worker-1"] {
        for state in ["absent", "kept"] { #expect(try await broken(role, state, fleet) == 0, "\(role) \(state)") }
      }

      // The notifier begins while the file has a mistake.
      try setMistake(true, fleet)
      try fleet.start("notifier-1")
      try await fleet.ready("notifier-1")
      let putOff = "countersign_webhook_deliveries_put_off_total{cause=\"publisher_broken\"}"
      try await eventually("the deliveries wait") { try await fleet.metric("notifier-1", putOff) >= 3 }
      #expect(fleet.webhooks.all.isEmpty)
      try setMistake(false, fleet)
      try await eventually("the webhooks come") {
        let told = Set(fleet.webhooks.all.compactMap { $0.told?.synchronizationId })
        return told.isSuperset(of: ["waits", "waits-too", "later"])
      }
      let dead = "countersign_dead_deliveries_total{reason=\"publisher_unknown\"}"
      #expect(try await fleet.metric("notifier-1", dead) == 0)
    }
  }

  /// Runs a command with the fleet's configuration.
  private func run(
    _ command: String, _ options: String..., in fleet: RunningFleet
  ) async throws -> (status: Int32, text: String) {
    let output = "\(fleet.folder)/\(command)-\(UInt32.random(in: 0...UInt32.max)).txt"
    let process = try ChildProcess(
      Repository.products + "/countersign", [command, "--config", fleet.folder + "/countersign.json"] + options,
      environment: [:], output: output)
    let status = try await process.ended()
    return (status, String(decoding: try Data(contentsOf: URL(filePath: output)), as: UTF8.self))
  }

  /// What `check-config --json` prints.
  private struct Listed: Decodable {
    struct Mistake: Decodable { let source, key, problem: String }
    let ok: Bool
    let mistakes: [Mistake]
  }

  @Test func `check-config tells every mistake, and without a good file no role starts`() async throws {
    try await RunningFleet.with(["gateway-1"], overrides: Self.overrides) { fleet in
      let ids = [RunningFleet.publisher, RunningFleet.openPublisher, RunningFleet.inactivePublisher]
      for id in ids.dropLast() { try fleet.writePublisher(id, "\"x\": 1") }
      let some = try await run("check-config", in: fleet)
      #expect(some.status == 2)
      for id in ids { #expect(some.text.contains("/publishers/\(id).json: x: is no key") == (id != ids.last)) }
      let json = try await run("check-config", "--json", in: fleet)
      #expect(json.status == 2)
      let listed = try JSONDecoder().decode(Listed.self, from: Data(json.text.utf8))
      #expect(!listed.ok && listed.mistakes.map(\.key) == ["x", "x"])
      #expect(listed.mistakes.allSatisfy { $0.source.hasSuffix(".json") && $0.problem.contains("is no key") })
      try fleet.writePublisher(ids[2], "\"x\": 1")
      let worker = try await run("worker", in: fleet)
      #expect(worker.status == 2)
      for id in ids { #expect(worker.text.contains("/publishers/\(id).json: x: is no key")) }
      // The running gateway keeps all of them.
      try await eventually("it keeps them") { try await broken("gateway-1", "kept", fleet) == 3 }
      #expect(try await fleet.register("1000000000001").status == 202)
    }
  }
}
