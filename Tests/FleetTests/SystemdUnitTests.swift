import Console
import EventLoop
import Fleets
import Foundation
import Glibc
import HTTP
import ServerSupport
import TestSupport
import Testing

/// Roles as `ops/systemd/countersign@.service` runs them. The test plays systemd: no systemd is the first process.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct SystemdUnitTests {
  private func unit() throws -> SystemdUnit {
    let path = Repository.root + "/ops/systemd/countersign@.service"
    return SystemdUnit(try String(contentsOfFile: path, encoding: .utf8))
  }

  private func write(_ text: String, to path: String) throws {
    let folder = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try text.write(toFile: path, atomically: true, encoding: .utf8)
  }

  /// Starts a role with the words, variables and credentials of the unit. The URLs have wrong passwords.
  ///
  /// - Returns: the socket to which the role talks.
  private func start(
    _ role: String, of fleet: RunningFleet, with more: [String: String] = [:]
  ) async throws -> NotifySocket {
    let servers = TestServers.current!
    let unit = try unit()
    let run = fleet.folder + "/run-\(role)"
    let ledger = try #require(URL(string: servers.ledgerURL(database: fleet.database)))
    let password = try #require(ledger.password)
    let contents = ["ledger.password": password, "rabbitmq.password": "guest"]
    for credential in unit.credentials {
      // The file of a person, and the copy of systemd.
      let content = try #require(contents[credential.name], "\(credential)")
      let file = credential.file.replacing(SystemdUnit.folder, with: fleet.folder)
      try write(content + "\n", to: file)
      try write(try String(contentsOfFile: file, encoding: .utf8), to: "\(run)/credentials/\(credential.name)")
    }
    let command = try unit.command(role)
    #expect(command.program == "/usr/local/bin/countersign")
    let systemd = try NotifySocket(in: run)
    let environment = unit.environment(credentials: run + "/credentials").merging([
      "COUNTERSIGN_RABBITMQ_URL": servers.rabbitmqURL().replacing("guest:guest@", with: "guest:wrong@"),
      "COUNTERSIGN_LEDGER_URL": ledger.absoluteString.replacing(":\(password)@", with: ":wrong@"),
      "NOTIFY_SOCKET": systemd.path, "WATCHDOG_USEC": "100000", "CREDENTIALS_DIRECTORY": run + "/credentials",
    ]) { $1 }.merging(more) { $1 }
    try fleet.start(
      "\(role)-1", with: environment,
      words: command.words.map { $0.replacing(SystemdUnit.folder, with: fleet.folder) })
    return systemd
  }

  /// Ends a role as systemd does.
  private func stop(_ role: String, of fleet: RunningFleet, _ systemd: NotifySocket) async throws {
    let process = try #require(fleet.roles["\(role)-1"]?.process)
    // The socket holds ten messages, and then drops the next ones.
    systemd.read()
    process.send(SIGTERM)
    try await eventually("\(role) ends") {
      systemd.read()
      return process.status != nil
    }
    #expect(process.status == 0, "\(role)")
    systemd.read()
    #expect(systemd.messages.count { $0 == "STOPPING=1" } == 1, "\(role)")
    systemd.close()
  }

  private func lives(_ role: String, of fleet: RunningFleet, _ systemd: NotifySocket) async throws {
    try await eventually("signs of life came from \(role)") {
      systemd.read()
      return systemd.messages.count { $0 == "WATCHDOG=1" } >= 2
    }
    #expect(systemd.messages.first == "READY=1", "\(role)")
    try await fleet.ready("\(role)-1")
  }

  @Test(arguments: ["gateway", "worker", "notifier"])
  func `a role reads its credentials, and tells systemd of its start, its life and its stop`(role: String) async throws
  {
    try await RunningFleet.with([], hasDoors: false) { fleet in
      let systemd = try await start(role, of: fleet)
      try await lives(role, of: fleet, systemd)
      try await stop(role, of: fleet, systemd)
    }
  }

  /// As docs/operate/deploy.md tells it, *systemd*.
  @Test func `the four roles of the unit verify a purchase together`() async throws {
    try await RunningFleet.with([], hasDoors: false) { fleet in
      let person = try PasswordLine.make(name: "ada", role: "viewer", publishers: "*", password: "a long password")
      try write(try #require(person) + "\n", to: fleet.folder + "/console-users")
      let console = [
        "COUNTERSIGN_CONSOLE_USERS_FILE": fleet.folder + "/console-users",
        "COUNTERSIGN_CONSOLE_LISTEN": "127.0.0.1:0",
      ]
      var started: [(role: String, systemd: NotifySocket)] = []
      for role in ["gateway", "worker", "notifier", "console"] {
        started.append((role, try await start(role, of: fleet, with: role == "console" ? console : [:])))
      }
      for (role, systemd) in started { try await lives(role, of: fleet, systemd) }

      #expect(try await fleet.putCustomer(7).status == 201)
      #expect(try await fleet.register("1000000000001", id: "bought").status == 202)
      _ = try await fleet.finished(["bought"])
      let path = fleet.url("/customers/7/entitlements")
      let entitlements = try await fleet.send("GET", path, fleet.headers(RunningFleet.publisher))
      #expect(String(decoding: entitlements.body, as: UTF8.self).contains(#""accessGranted":true"#))
      let webhook = try #require(try await fleet.webhooks.wait(for: 1).first)
      #expect(webhook.isVerified)
      let page = try await fleet.send("GET", fleet.url("/sign-in", gateway: "console-1"), [])
      #expect(page.status == 200)

      for (role, systemd) in started { try await stop(role, of: fleet, systemd) }
    }
  }
}
