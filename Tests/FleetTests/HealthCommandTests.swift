import EventLoop
import Fleets
import FoundationEssentials
import ServerSupport
import Simulator
import TestSupport
import Testing

/// `countersign health`, as a health check of a container asks.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct HealthCommandTests {
  /// Asks the role of a fleet that is named, or a role that listens elsewhere.
  private func ask(
    _ words: [String], of fleet: RunningFleet, at address: String
  ) async throws -> (status: Int32, text: String) {
    let output = "\(fleet.folder)/health-\(UUID().uuidString).log"
    let listen = words.first.map { ["COUNTERSIGN_\($0.uppercased())_LISTEN": address] } ?? [:]
    let process = try ChildProcess(
      Repository.products + "/countersign", ["health"] + words + ["--config", fleet.folder + "/countersign.json"],
      // A proxy must not be asked: there is none at this place.
      environment: listen.merging(["http_proxy": "http://127.0.0.1:1", "https_proxy": "http://127.0.0.1:1"]) { $1 },
      output: output)
    let status = try await process.ended()
    return (status, String(decoding: (try? Data(contentsOf: URL(filePath: output))) ?? Data(), as: UTF8.self))
  }

  @Test func `a ready role is told from one whose servers are away, and from nobody`() async throws {
    try await RunningFleet.with(["gateway-1", "worker-1", "notifier-1"]) { fleet in
      for role in ["gateway", "worker", "notifier"] {
        let address = try #require(fleet.roles["\(role)-1"]?.address)
        let ready = try await ask([role], of: fleet, at: address)
        #expect(ready.status == 0 && ready.text == "ready\n", "\(role): \(ready)")
        let port = try #require(address.split(separator: ":").last)
        let everywhere = try await ask([role], of: fleet, at: "0.0.0.0:\(port)")
        #expect(everywhere.status == 0, "\(role): \(everywhere)")
      }
      try fleet.start("gateway-2", with: ["COUNTERSIGN_REDIS_URL": "redis://127.0.0.1:1/0"])
      try await fleet.listens("gateway-2")
      let away = try #require(fleet.roles["gateway-2"]?.address)
      try await eventually("the gateway says what is away") {
        let waiting = try await ask(["gateway"], of: fleet, at: away)
        return waiting.status == 1 && waiting.text.contains("answered 503") && waiting.text.contains("redis")
      }
      let nobody = try await ask(["worker"], of: fleet, at: "127.0.0.1:1")
      #expect(nobody.status == 1 && nobody.text.contains("countersign health: "), "\(nobody)")
    }
  }

  @Test func `the simulator is asked with the authority that it has made`() async throws {
    try await RunningFleet.with([], hasDoors: false) { fleet in
      let address = "127.0.0.1:\(fleet.simulator.port)"
      let ready = try await ask(["simulator"], of: fleet, at: address)
      #expect(ready.status == 0 && ready.text == "ready\n", "\(ready)")
    }
  }

  @Test(arguments: [[], ["migrate"], ["gateway", "--verbose"]])
  func `what is no role, or no option, ends with 2`(words: [String]) async throws {
    try await RunningFleet.with([], hasDoors: false) { fleet in
      let refused = try await ask(words, of: fleet, at: "127.0.0.1:1")
      #expect(refused.status == 2 && !refused.text.isEmpty, "\(refused)")
    }
  }
}
