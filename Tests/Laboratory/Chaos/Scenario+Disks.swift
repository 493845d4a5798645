import EventLoop
import Fleets
import HTTP
import TestSupport

extension Scenario {
  /// The disks of the three servers run full, and have room again. Nobody restarts anything.
  static let disks: [Scenario] = [
    Scenario(
      name: "disk-ledger", what: "PostgreSQL's disk full", confined: .postgres,
      inject: { chaos in
        // The tables grow into the last page first.
        try await chaos.fillDisk(of: .postgres, traces: ["53100", "No space left on device"])
      },
      heal: { _ in try await TestServers.current!.emptyDisk(of: .postgres) }),
    Scenario(
      name: "disk-store", what: "Redis' disk full", confined: .redis,
      inject: { chaos in try await chaos.fillDisk(of: .redis, traces: ["MISCONF"]) },
      heal: { _ in try await TestServers.current!.emptyDisk(of: .redis) }),
    Scenario(
      name: "disk-broker", what: "RabbitMQ's disk alarm",
      inject: { chaos in try await chaos.fillDisk(of: .rabbitmq, traces: ["broker alarm"]) },
      heal: { _ in try await TestServers.current!.emptyDisk(of: .rabbitmq) }),
  ]
}

extension Chaos {
  /// Fills a disk again and again as long as registrations come, and gives the room back each time.
  ///
  /// - Parameter traces: what a role's log says when the role has met the full disk.
  fileprivate func fillDisk(of server: TestServers.Server, traces: [String]) async throws {
    let servers = TestServers.current!
    func met() -> Int { traces.map { fleet.logged($0).count }.reduce(0, +) }
    repeat {
      try await pause(1...1.5)
      let before = met()
      injected("\(server.rawValue)'s disk full")
      try await servers.fillDisk(of: server)
      // The load may be over before a role has written anything.
      var number = 0
      try await eventually("a role meets the full disk of \(server.rawValue)") {
        number += 1
        await self.register(
          "full-\(server.rawValue)-\(self.history.faults.count)-\(number)",
          "1119\(2_000_000 + self.history.faults.count * 10_000 + number)",
          Self.gateways[0])
        return met() > before
      }
      try await pause(1...3)
      try await servers.emptyDisk(of: server)
      for name in Chaos.roles { try await fleet.ready(name) }
      try await fleet.subscribed()
    } while goesOn
  }
}
