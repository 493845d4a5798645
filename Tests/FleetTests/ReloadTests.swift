import Domain
import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import ServerSupport
import TestSupport
import Testing

/// Files of the configuration that change while roles run.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(60))
)
@LoopActor
struct ReloadTests {
  private static func publisher(_ id: PublisherId, _ customers: String) -> [String: String] {
    ["\(id).json": RunningFleet.publisherText(id, "\"customers\": \"\(customers)\"")]
  }

  @Test func `a swapped link is noticed without a signal, and a mistake leaves its publisher as it was`() async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/countersign-mount-\(UInt32.random(in: 0...UInt32.max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let mount = try MountedFolder(folder)
    try mount.put(1, Self.publisher(1004, "open"))
    let overrides = ["COUNTERSIGN_PUBLISHERS_FOLDER": folder, "COUNTERSIGN_RELOAD_SECONDS": "0.2"]
    try await RunningFleet.with(["gateway-1", "worker-1"], overrides: overrides) { fleet in
      func answer(_ id: PublisherId) async throws -> Int {
        try await fleet.send("GET", fleet.url("/customers/7"), [("X-Publisher-Token", "token-\(id)")]).status
      }
      func kept(_ role: String) async throws -> Double {
        try await fleet.metric(role, "countersign_publishers_broken{state=\"kept\"}")
      }
      #expect(try await answer(1004) == 404)
      #expect(try await answer(1005) == 401)
      try mount.put(2, Self.publisher(1004, "open").merging(Self.publisher(1005, "open")) { $1 })
      try await eventually("the new publisher is known") { try await answer(1005) == 404 }
      // A worker that did not know it would have nothing to keep.
      @LoopActor func workerKnows(_ count: Int) async throws {
        try await eventually("the worker knows \(count) publishers") {
          let lines = fleet.log("worker-1").split(separator: "\n")
          return lines.contains { $0.contains("configuration reloaded") && $0.contains("\"publishers\":\(count)") }
        }
      }
      try await workerKnows(2)

      // One file has a mistake, another is a link to nothing, and a third is new.
      try mount.put(3, Self.publisher(1004, "closed").merging(Self.publisher(1006, "open")) { $1 })
      for role in ["gateway-1", "worker-1"] {
        try await eventually("\(role) tells it") { try await kept(role) == 2 }
        #expect(try await fleet.metric(role, "countersign_configuration_current") == 1)
      }
      for id: PublisherId in [1004, 1005, 1006] { #expect(try await answer(id) == 404) }
      #expect(fleet.log("gateway-1").contains("expected one of registered, open"))
      #expect(fleet.log("gateway-1").contains("1005.json: the file cannot be read"))

      // Another change does not log the same mistakes again.
      let both = Self.publisher(1006, "open").merging(Self.publisher(1007, "open")) { $1 }
      try mount.put(4, Self.publisher(1004, "closed").merging(both) { $1 })
      try await eventually("the next change counts") { try await answer(1007) == 404 }
      let told = fleet.logged("a publisher's file has a mistake").filter { $0.contains("\"role\":\"gateway\"") }
      #expect(told.count { $0.contains("expected one of registered, open") } == 1)
      try await workerKnows(4)

      try mount.put(5, Self.publisher(1004, "open").merging(Self.publisher(1005, "open")) { $1 })
      for role in ["gateway-1", "worker-1"] {
        try await eventually("\(role) has every file") {
          // The links of 1006 and 1007 lead to nothing now.
          try await kept(role) == 2
        }
      }
      try FileManager.default.removeItem(atPath: "\(folder)/1005.json")
      try await eventually("the publisher is gone") { try await answer(1005) == 401 }
      let refused = "countersign_configuration_reloads_total{outcome=\"refused\"}"
      #expect(try await fleet.metric("gateway-1", refused) == 0)
    }
  }

  @Test func `passwords that change under load lose no job, and restart no role`() async throws {
    let servers = TestServers.current!
    let user = "role-\(UInt32.random(in: 0...UInt32.max))"
    let folder = FileManager.default.temporaryDirectory.path + "/countersign-\(user)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let mount = try MountedFolder(folder)
    try await servers.setPassword(of: user, to: "first-\(user)")
    try mount.put(1, ["password": "first-\(user)\n"])

    var overrides = ["COUNTERSIGN_RELOAD_SECONDS": "0.2"]
    for server in ["RABBITMQ", "REDIS", "LEDGER"] {
      overrides["COUNTERSIGN_\(server)_PASSWORD_FILE"] = folder + "/password"
    }
    overrides["COUNTERSIGN_RABBITMQ_URL"] = servers.rabbitmqURL().replacing("guest:guest@", with: "\(user)@")
    overrides["COUNTERSIGN_REDIS_URL"] = servers.redisURL().replacing("://", with: "://\(user)@")
    let roles = ["gateway-1", "worker-1", "notifier-1"]
    func nameUser(in fleet: RunningFleet) throws {
      let file = URL(filePath: fleet.folder + "/countersign.json")
      let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
      try Data(text.replacing("postgresql://countersign:", with: "postgresql://\(user):").utf8).write(to: file)
    }
    try await RunningFleet.with(roles, overrides: overrides, prepare: nameUser) { fleet in
      let processes = roles.map { fleet.roles[$0]?.process.pid }
      let accepted = try await RegistrationLoad.with(fleet) { load in
        for round in 2...3 {
          let password = "round-\(round)-\(user)"
          try mount.put(round, ["password": password + "\n"])
          try await fleet.reloaded(roles, times: round - 1)
          try await servers.setPassword(of: user, to: password)
          try await fleet.disconnect(user)
          for role in roles { try await fleet.ready(role) }
          try await load.goOn()
        }
      }
      _ = try await fleet.finished(accepted)
      #expect(roles.map { fleet.roles[$0]?.process.pid } == processes)
      for role in roles {
        #expect(fleet.log(role).contains("configuration reloaded"), "\(role)")
        #expect(!fleet.log(role).contains("-\(user)"), "\(role) has logged a password")
      }
    }
  }
}
