import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import ServerSupport
import TestSupport
import Testing

/// What `/readyz` says of servers that a role cannot use.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct ReadinessCauseTests {
  private let roles = ["gateway-1", "worker-1", "notifier-1"]

  /// The lines of a role about a server that say what is wrong.
  private func troubles(of role: String, with server: String, _ fleet: RunningFleet) async throws -> [String] {
    let readiness = try await fleet.send("GET", fleet.url("/readyz", gateway: role))
    let lines = String(decoding: readiness.body, as: UTF8.self).split(separator: "\n").map(String.init)
    return lines.filter { $0.contains(": \(server)") && !$0.hasPrefix("ok") }
  }

  /// Starts the roles with a place of all three servers where nobody is.
  private func start(_ fleet: RunningFleet, at place: String) async throws {
    for role in roles {
      try fleet.start(
        role,
        with: [
          "COUNTERSIGN_RABBITMQ_URL": "amqp://a:b@\(place)/%2F", "COUNTERSIGN_REDIS_URL": "redis://\(place)/0",
          "COUNTERSIGN_LEDGER_URL": "postgresql://a:b@\(place)/a",
        ])
      try await fleet.listens(role)
      try await eventually("\(role) has started") { fleet.log(role).contains("\"event\":\"started\"") }
    }
  }

  /// Each line about a server says what was tried there, and what went wrong.
  private func expect(_ causes: String..., at place: String, _ fleet: RunningFleet) async throws {
    for role in roles {
      for server in ["rabbitmq", "redis", "ledger"] {
        try await eventually("\(role) says what is wrong with \(server)") {
          let lines = try await troubles(of: role, with: server, fleet)
          return !lines.isEmpty
            && lines.allSatisfy { line in line.contains(place) && causes.contains(where: line.contains) }
        }
      }
      #expect(try await fleet.send("GET", fleet.url("/readyz", gateway: role)).status == 503)
      #expect(fleet.roles[role]?.process.status == nil)
    }
  }

  @Test func `a role waits for servers that nobody answers for, and says which and why`() async throws {
    try await RunningFleet.with([], hasDoors: false) { fleet in
      let closed = try FaultProxy(to: 1)
      let port = closed.port
      closed.close()
      try await start(fleet, at: "127.0.0.1:\(port)")
      try await expect("onnection refused", at: "127.0.0.1:\(port)", fleet)
    }
  }

  @Test func `a role waits for a host that has no address, and says so`() async throws {
    try await RunningFleet.with([], hasDoors: false) { fleet in
      try await start(fleet, at: "no-such-host.invalid:4711")
      // Without a network, the resolver does not know whether there is such a host.
      try await expect(
        "Name or service not known", "Temporary failure in name resolution", at: "no-such-host.invalid", fleet)
    }
  }

  @Test func `a virtual host that is deleted under a running role is the cause`() async throws {
    let servers = TestServers.current!
    try await RunningFleet.with([], hasDoors: false) { fleet in
      fleet.mayRepair = true
      let host = fleet.prefix
      try await servers.createVirtualHost(host)
      for role in roles {
        try fleet.start(role, with: ["COUNTERSIGN_RABBITMQ_URL": servers.rabbitmqURL().replacing("%2F", with: host)])
      }
      for role in roles { try await fleet.ready(role) }
      try await servers.deleteVirtualHost(host)
      for role in roles {
        try await eventually("\(role) says that its virtual host is gone") {
          let lines = try await troubles(of: role, with: "rabbitmq", fleet)
          return !lines.isEmpty
            && lines.allSatisfy { $0.contains("NOT_ALLOWED") && $0.contains("vhost \(host) not found") }
        }
        #expect(fleet.roles[role]?.process.status == nil)
      }
    }
  }
}
