import EventLoop
import Fleets
import Foundation
import Glibc
import ServerSupport
import TestSupport
import Testing

/// Roles as `ops/systemd/countersign@.service` runs them: the test plays systemd.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct SystemdUnitTests {
  /// The variables of the unit, with the folder of its credentials.
  private func variables(_ credentials: String) throws -> [String: String] {
    let unit = try String(contentsOfFile: Repository.root + "/ops/systemd/countersign@.service", encoding: .utf8)
    let lines = unit.split(separator: "\n").filter { $0.hasPrefix("Environment=") }
    return Dictionary(
      uniqueKeysWithValues: lines.map { line in
        let pair = line.dropFirst("Environment=".count).split(separator: "=", maxSplits: 1)
        return (String(pair[0]), String(pair[1]).replacing("%d", with: credentials))
      })
  }

  @Test(arguments: ["gateway", "worker", "notifier"])
  func `a role reads its credentials, and tells systemd of its start, its life and its stop`(role: String) async throws
  {
    let servers = TestServers.current!
    try await RunningFleet.with([], hasDoors: false) { fleet in
      let systemd = try NotifySocket(in: fleet.folder)
      defer { systemd.close() }
      let credentials = fleet.folder + "/credentials"
      try FileManager.default.createDirectory(atPath: credentials, withIntermediateDirectories: true)
      // The URLs have wrong passwords.
      let ledger = try #require(URL(string: servers.ledgerURL(database: fleet.database)))
      let password = try #require(ledger.password)
      try "\(password)\n".write(toFile: credentials + "/ledger.password", atomically: true, encoding: .utf8)
      try "guest\n".write(toFile: credentials + "/rabbitmq.password", atomically: true, encoding: .utf8)
      let environment = try variables(credentials).merging([
        "COUNTERSIGN_RABBITMQ_URL": servers.rabbitmqURL().replacing("guest:guest@", with: "guest:wrong@"),
        "COUNTERSIGN_LEDGER_URL": ledger.absoluteString.replacing(":\(password)@", with: ":wrong@"),
        "NOTIFY_SOCKET": systemd.path, "WATCHDOG_USEC": "100000", "CREDENTIALS_DIRECTORY": credentials,
      ]) { $1 }
      try fleet.start("\(role)-1", with: environment)
      try await eventually("signs of life came") {
        systemd.read()
        return systemd.messages.count { $0 == "WATCHDOG=1" } >= 2
      }
      #expect(systemd.messages.first == "READY=1")
      try await fleet.ready("\(role)-1")
      let process = try #require(fleet.roles["\(role)-1"]?.process)
      process.send(SIGTERM)
      #expect(try await process.ended() == 0)
      systemd.read()
      #expect(systemd.messages.count { $0 == "STOPPING=1" } == 1)
    }
  }
}
