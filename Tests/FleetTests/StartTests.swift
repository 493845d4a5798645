import AMQP
import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import Redis
import ServerSupport
import TestSupport
import Testing

/// How roles start while a server refuses them, and while nobody is there.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct StartTests {
  /// Starts a role with other URLs.
  private func start(_ fleet: RunningFleet, _ role: String, _ urls: [String: String]) throws {
    try fleet.start(role, with: Dictionary(uniqueKeysWithValues: urls.map { ("COUNTERSIGN_\($0.key)_URL", $0.value) }))
  }

  /// The servers' URLs with another user and password, or another place.
  private func wrong(_ fleet: RunningFleet) -> [(name: String, urls: [String: String], server: String, cause: String)] {
    let servers = TestServers.current!
    let (amqp, redis) = TestServers.usesTLS ? ("amqps", "rediss") : ("amqp", "redis")
    return [
      (
        "password of the ledger",
        ["LEDGER": "postgresql://nobody:not-the-secret@127.0.0.1:\(servers.postgres)/\(fleet.database)"],
        "PostgreSQL", "(28"
      ),
      (
        "database of the ledger", ["LEDGER": servers.ledgerURL(database: "no-such-database")],
        "PostgreSQL", "(3D000)"
      ),
      (
        "password of RabbitMQ", ["RABBITMQ": "\(amqp)://nobody:not-the-secret@127.0.0.1:\(servers.rabbitmq.port)/%2F"],
        "RabbitMQ", "ACCESS_REFUSED"
      ),
      (
        "virtual host", ["RABBITMQ": servers.rabbitmqURL().replacing("%2F", with: "no-such-host")], "RabbitMQ",
        "NOT_ALLOWED"
      ),
      (
        "password of Redis", ["REDIS": "\(redis)://nobody:not-the-secret@127.0.0.1:\(servers.redis.port)/0"], "Redis",
        "WRONGPASS"
      ),
      (
        "database of Redis", ["REDIS": "\(servers.redisURL().dropLast(1))99"], "Redis", "out of range"
      ),
    ]
  }

  @Test(arguments: ["gateway", "worker", "notifier"])
  func `a wrong password, database or virtual host ends the start with a sentence`(role: String) async throws {
    try await RunningFleet.with([], hasDoors: false) { fleet in
      for (number, wrong) in wrong(fleet).enumerated() {
        let name = "\(role)-\(number + 1)"
        try start(fleet, name, wrong.urls)
        #expect(try await fleet.roles[name]!.process.ended() == 1, "\(wrong.name)")
        let log = fleet.log(name)
        let line = try #require(log.split(separator: "\n").first { $0.contains("could not start") }, "\(wrong.name)")
        #expect(line.contains("\(wrong.server) refuses the connection: ") && line.contains(wrong.cause))
        #expect(line.contains("Check user and "))
        #expect(!log.contains("not-the-secret"))
      }
    }
  }

  @Test func `a role waits for servers that nobody answers for, and says which and why`() async throws {
    try await RunningFleet.with([], hasDoors: false) { fleet in
      let closed = try FaultProxy(to: 1)
      let port = closed.port
      closed.close()
      let urls = ["RABBITMQ": "amqp://a:b@127.0.0.1:\(port)/%2F", "LEDGER": "postgresql://a:b@127.0.0.1:\(port)/a"]
      for role in ["gateway-1", "worker-1", "notifier-1"] {
        try start(fleet, role, urls)
        try await fleet.listens(role)
        try await eventually("\(role) has started") { fleet.log(role).contains("\"event\":\"started\"") }
        let readiness = try await fleet.send("GET", fleet.url("/readyz", gateway: role))
        #expect(readiness.status == 503)
        let lines = String(decoding: readiness.body, as: UTF8.self).split(separator: "\n")
        let rabbitmq = lines.filter { $0.contains(": rabbitmq") && !$0.hasPrefix("ok") }
        #expect(!rabbitmq.isEmpty)
        for line in rabbitmq { #expect(line.contains("at 127.0.0.1:\(port): ") && line.contains("onnection")) }
        #expect(fleet.roles[role]?.process.status == nil)
      }
    }
  }
}
