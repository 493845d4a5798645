import EventLoop
import Fleets
import FoundationEssentials
import ServerSupport
import TestSupport
import Testing

/// The keys of the ledger's secrets, which change while a fleet works.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(60))
)
@LoopActor
struct ReloadKeysTests {
  private let holders = ["gateway-1", "notifier-1", "notifier-2"]

  /// The text of a file of keys.
  private func keys(_ ids: [String], _ fleet: RunningFleet) throws -> [String: String] {
    try fleet.writeKeys("new.json", ids)
    let data = try Data(contentsOf: URL(filePath: fleet.folder + "/new.json"))
    return ["keys.json": String(decoding: data, as: UTF8.self)]
  }

  /// Lets the fleet read its keys from a mounted folder.
  private func mount(_ fleet: RunningFleet) throws {
    try MountedFolder(fleet.folder + "/keys").put(1, try keys(["first"], fleet))
    let file = URL(filePath: fleet.folder + "/countersign.json")
    let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    try Data(text.replacing("\"keys.json\"", with: "\"keys/keys.json\"").utf8).write(to: file)
  }

  @Test func `a key that changes under load loses no webhook, and restarts no role`() async throws {
    try await WebhookReceiver.with { receiver async throws in
      let roles = holders + ["worker-1"]
      try await RunningFleet.with(roles, overrides: ["COUNTERSIGN_RELOAD_SECONDS": "0.2"], prepare: mount) {
        fleet async throws in
        let processes = roles.map { fleet.roles[$0]?.process.pid }
        let mount = try MountedFolder(fleet.folder + "/keys")
        let api = WebhookAPIClient(fleet: fleet, publisher: RegistrationLoad.publisher)
        let members = #""topics":["inappPurchaseSyncResult"]"#
        let old = try await api.create(#""url":"\#(receiver.url("old"))",\#(members)"#)
        var secrets = ["old": old.secret]
        /// Waits for webhooks to a path of registrations that begin now.
        @LoopActor func goOn(_ load: RegistrationLoad, _ path: String) async throws {
          let before = receiver.got(path).count
          try await load.goOn()
          _ = try await receiver.wait(path, for: before + 10)
        }
        let accepted = try await RegistrationLoad.with(fleet) { load in
          try await goOn(load, "old")
          // A new key in front.
          try mount.put(2, try keys(["second", "first"], fleet))
          try await fleet.reloaded(holders, times: 1)
          let rekeyed = try await fleet.command(["rekey"])
          #expect(rekeyed.contains("key second: 1 endpoint") && !rekeyed.contains("key first"), "\(rekeyed)")
          try await goOn(load, "old")
          // The old one goes.
          try mount.put(3, try keys(["second"], fleet))
          try await fleet.reloaded(holders, times: 2)
          secrets["new"] = try await api.create(#""url":"\#(receiver.url("new"))",\#(members)"#).secret
          for path in ["old", "new"] { try await goOn(load, path) }

          try mount.put(4, ["keys.json": "{"])
          try await fleet.refused(holders)
          for path in ["old", "new"] { try await goOn(load, path) }
          try mount.put(5, try keys(["third", "second"], fleet))
          try await fleet.reloaded(holders, times: 3)
        }
        _ = try await fleet.finished(accepted)
        let received = try await receiver.requests.wait {
          accepted.isSubset(of: $0.filter { $0.path == "old" }.compactMap(\.synchronizationId))
        }
        for webhook in received { #expect(try webhook.isSigned(with: secrets[webhook.path] ?? "")) }
        #expect(roles.map { fleet.roles[$0]?.process.pid } == processes)
        for role in holders where role.hasPrefix("notifier") {
          #expect(try await fleet.metric(role, "countersign_secrets_unreadable_total") == 0)
        }
      }
    }
  }
}
