import AMQP
import Crypto
import EventLoop
import Fleets
import Formats
import FoundationEssentials
import Redis
import ServerSupport
import Testing

/// How roles start while a server refuses them.
@Suite(
  .runningFleet, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(60)))
@LoopActor
struct StartTests {
  private let servers = TestServers.current!

  /// A setting of a role that a server refuses.
  private struct Wrong {
    let name: String
    let server: String
    let cause: String
    let environment: [String: String]

    init(_ name: String, of server: String, _ cause: String, _ environment: [String: String]) {
      (self.name, self.server, self.cause, self.environment) = (name, server, cause, environment)
    }
  }

  /// The servers' URLs with another user and password, or another place.
  private func wrongPlaces(_ fleet: RunningFleet) -> [Wrong] {
    let (amqp, redis) = TestServers.usesTLS ? ("amqps", "rediss") : ("amqp", "redis")
    let user = "nobody:not-the-secret@127.0.0.1"
    return [
      Wrong(
        "password of the ledger", of: "PostgreSQL", "(28",
        ["COUNTERSIGN_LEDGER_URL": "postgresql://\(user):\(servers.postgres)/\(fleet.database)"]),
      Wrong(
        "database of the ledger", of: "PostgreSQL", "(3D000)",
        ["COUNTERSIGN_LEDGER_URL": servers.ledgerURL(database: "no-such-database")]),
      Wrong(
        "password of RabbitMQ", of: "RabbitMQ", "ACCESS_REFUSED",
        ["COUNTERSIGN_RABBITMQ_URL": "\(amqp)://\(user):\(servers.rabbitmq.port)/%2F"]),
      Wrong(
        "virtual host", of: "RabbitMQ", "NOT_ALLOWED",
        ["COUNTERSIGN_RABBITMQ_URL": servers.rabbitmqURL().replacing("%2F", with: "no-such-host")]),
      Wrong(
        "password of Redis", of: "Redis", "WRONGPASS",
        ["COUNTERSIGN_REDIS_URL": "\(redis)://\(user):\(servers.redis.address.port)/0"]),
      Wrong(
        "database of Redis", of: "Redis", "out of range",
        ["COUNTERSIGN_REDIS_URL": "\(servers.redisURL().dropLast(1))99"]),
    ]
  }

  /// The servers with certificates of an authority that the role does not trust.
  private func wrongCertificates(_ fleet: RunningFleet) throws -> [Wrong] {
    let other = try CertificateAuthority.root(commonName: "Another authority", curve: .p256)
    let file = fleet.folder + "/other-ca.pem"
    try Data(other.certificate.pem.utf8).write(to: URL(filePath: file))
    let cause = "certificate verify failed"
    return [
      Wrong(
        "authority of RabbitMQ", of: "RabbitMQ", cause,
        [
          "COUNTERSIGN_RABBITMQ_URL": "amqps://guest:guest@\(servers.encryptedRabbitMQ)/%2F",
          "COUNTERSIGN_RABBITMQ_CA_FILE": file,
        ]),
      Wrong(
        "authority of Redis", of: "Redis", cause,
        ["COUNTERSIGN_REDIS_URL": "rediss://\(servers.encryptedRedis)/0", "COUNTERSIGN_REDIS_CA_FILE": file]),
      // PostgreSQL speaks TLS only with `ops/test --tls`.
      Wrong(
        "authority of the ledger", of: "PostgreSQL", TestServers.usesTLS ? cause : "server does not support SSL",
        ["COUNTERSIGN_LEDGER_CA_FILE": file]),
    ]
  }

  @Test(arguments: ["gateway", "worker", "notifier"])
  func `a wrong password, database, virtual host or authority ends the start with a sentence`(
    role: String
  ) async throws {
    try await RunningFleet.with([], hasDoors: false) { fleet in
      for (number, wrong) in (wrongPlaces(fleet) + (try wrongCertificates(fleet))).enumerated() {
        let name = "\(role)-\(number + 1)"
        try fleet.start(name, with: wrong.environment)
        let status = try await fleet.roles[name]!.process.ended()
        let log = fleet.log(name)
        #expect(status == 1, "\(wrong.name): \(log)")
        let line = try #require(log.split(separator: "\n").first { $0.contains("could not start") }, "\(wrong.name)")
        #expect(
          line.contains("\(wrong.server) refuses the connection: ") && line.contains(wrong.cause), "\(wrong.name)")
        #expect(line.contains("Check user and ") && line.contains(".caFile"))
        #expect(!log.contains("not-the-secret"))
      }
    }
  }
}
