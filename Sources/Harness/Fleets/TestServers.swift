public import AMQP
import Crypto
public import EventLoop
import FoundationEssentials
public import Redis

/// The private servers of the tests; `ops/test` starts them.
public struct TestServers: Sendable {
  /// One of the servers.
  public enum Server: String, Sendable {
    case rabbitmq, redis, postgres
    /// A copy of the ledger. Each commit of `postgres` waits for it from its start to its end.
    case standby = "postgres-standby"
  }

  /// The servers of this run; `nil` when `ops/test` did not start the tests.
  public static let current: TestServers? = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_SERVERS"]
    .flatMap(TestServers.init)

  /// Says how to get servers.
  public static let hint = "needs RabbitMQ, Redis and PostgreSQL: run ops/test"

  /// Whether the servers speak TLS on their usual ports: `ops/test --tls`.
  public static let usesTLS = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_TLS"] == "1"

  public let rabbitmq: AMQPEndpoint
  public let redis: RedisEndpoint
  /// RabbitMQ with TLS, in every run.
  public let encryptedRabbitMQ: AMQPEndpoint
  /// Redis with TLS, in every run.
  public let encryptedRedis: RedisEndpoint
  /// The port of the ledger.
  public let postgres: Int
  /// The port of the ledger's standby.
  public let standby: Int
  private let ledgerPassword: String
  fileprivate let folder: String

  private init?(folder: String) {
    guard let data = try? Data(contentsOf: URL(filePath: folder + "/ports.json")),
      let ports = try? JSONDecoder().decode([String: Int].self, from: data),
      let rabbitmq = ports["rabbitmq"], let redis = ports["redis"], let postgres = ports["postgres"],
      let standby = ports["postgres-standby"], let rabbitmqTLS = ports["rabbitmq-tls"],
      let redisTLS = ports["redis-tls"],
      let password = try? Data(contentsOf: URL(filePath: folder + "/postgres.password"))
    else { return nil }
    self.folder = folder
    self.postgres = postgres
    self.standby = standby
    ledgerPassword = String(decoding: password, as: UTF8.self).replacing("\n", with: "")
    // All tests share one loop and few cores: a caller that waits for its turn has not met a failed server.
    var broker = AMQPEndpoint(host: "127.0.0.1", port: rabbitmq)
    broker.connectTimeout = .seconds(300)
    var redisEndpoint = RedisEndpoint(host: "127.0.0.1", port: redis)
    redisEndpoint.timeout = .seconds(300)
    let files = TLSClientFiles(caFile: Self.file("ca.pem", in: folder))
    if Self.usesTLS { (broker.tls, redisEndpoint.tls) = (files, files) }
    (self.rabbitmq, self.redis) = (broker, redisEndpoint)
    (broker.tls, redisEndpoint.tls) = (files, files)
    broker.port = rabbitmqTLS
    if !Self.usesTLS { redisEndpoint.port = redisTLS }
    (encryptedRabbitMQ, encryptedRedis) = (broker, redisEndpoint)
  }

  private static func file(_ name: String, in folder: String) -> String { "\(folder)/tls/\(name)" }

  /// A file of the servers' certificates: `ca.pem`, `ca.key`, `client.pem` or `client.key`.
  public func certificateFile(_ name: String) -> String { Self.file(name, in: folder) }

  /// The URL of RabbitMQ for a role.
  ///
  /// - Parameter port: perhaps of a proxy; `nil` means the server's own.
  public func rabbitmqURL(port: Int? = nil) -> String {
    "amqp\(Self.usesTLS ? "s" : "")://guest:guest@127.0.0.1:\(port ?? rabbitmq.port)/%2F"
  }

  /// The URL of Redis for a role.
  ///
  /// - Parameter port: perhaps of a proxy; `nil` means the server's own.
  public func redisURL(port: Int? = nil) -> String {
    "redis\(Self.usesTLS ? "s" : "")://127.0.0.1:\(port ?? redis.port)/0"
  }

  /// The authority of the servers, as the rest of a section in a role's configuration; empty without TLS.
  public var authoritySetting: String {
    Self.usesTLS ? #", "caFile": "\#(certificateFile("ca.pem"))""# : ""
  }

  /// The URL of a database in the ledger's server, with its password.
  ///
  /// - Parameter ports: the ports of its hosts, perhaps of proxies; `nil` means the server's own.
  public func ledgerURL(database: String, ports: [Int]? = nil) -> String {
    let hosts = (ports ?? [postgres]).map { "127.0.0.1:\($0)" }.joined(separator: ",")
    return "postgresql://countersign:\(ledgerPassword)@\(hosts)/\(database)"
  }
}

@LoopActor
extension TestServers {
  /// Creates an empty database in the ledger's server.
  public func createDatabase(_ name: String) async throws { try await run("create-database", name) }
  /// Deletes a database, also while somebody uses it.
  public func dropDatabase(_ name: String) async throws { try await run("drop-database", name) }

  /// Starts a server and waits until it answers.
  public func start(_ server: Server) async throws { try await run("start", server) }
  /// Stops a server properly.
  public func stop(_ server: Server) async throws { try await run("stop", server) }
  /// Kills a server with SIGKILL.
  public func kill(_ server: Server) async throws { try await run("kill", server) }
  /// Stops a server with SIGSTOP: connections stay, and nothing answers.
  public func pause(_ server: Server) async throws { try await run("pause", server) }
  /// Lets a paused server go on.
  public func resume(_ server: Server) async throws { try await run("resume", server) }
  /// Deletes the data of a stopped server.
  public func wipe(_ server: Server) async throws { try await run("wipe", server) }

  /// Deletes everything in Redis, which goes on running.
  public func flushRedis() async throws {
    let connection = try await RedisConnection.open(redis)
    defer { connection.close() }
    _ = try await connection.send(["FLUSHALL"])
  }

  /// Makes RabbitMQ raise its memory alarm.
  public func raiseAlarm() async throws { try await run("alarm") }
  /// Makes RabbitMQ end its memory alarm.
  public func endAlarm() async throws { try await run("calm") }

  /// Starts Redis or PostgreSQL again, empty, with its data on a small disk.
  public func confine(_ server: Server) async throws { try await run("confine", server.rawValue) }
  /// Starts a confined server again, empty, without its small disk.
  public func release(_ server: Server) async throws { try await run("release", server.rawValue) }
  /// Leaves no room on the disk of a confined server, or of RabbitMQ.
  public func fillDisk(of server: Server) async throws { try await run("fill", server.rawValue) }
  /// Gives the room back.
  public func emptyDisk(of server: Server) async throws { try await run("empty", server.rawValue) }

  /// Stops the only member of a quorum queue: like a queue without a majority, it confirms nothing.
  public func stall(queue: String) async throws { try await run("stall", queue) }
  /// Starts the member of a stalled queue again.
  public func unstall(queue: String) async throws { try await run("unstall", queue) }

  /// Makes the standby the ledger's primary server. The old one must be down.
  public func promoteStandby() async throws { try await run("promote") }

  /// Starts the ledger again, empty and without a standby.
  public func forgetStandby() async throws {
    for server in [Server.standby, .postgres] {
      try await kill(server)
      try await wipe(server)
    }
    try await start(.postgres)
  }

  /// Servers that a test has stopped, killed or paused, each with the verb that brings it back.
  private static var away: [Server: String] = [:]

  /// Brings back what a failed test has left stopped, so that the tests after it run.
  public func mend() async throws {
    // A scenario that starts the standby ends it itself.
    for (server, verb) in Self.away where server != .standby { try await run(verb, server) }
  }

  private func run(_ verb: String, _ server: Server) async throws {
    try await run(verb, server.rawValue)
    switch verb {
    case "stop", "kill": Self.away[server] = "start"
    case "pause": Self.away[server] = "resume"
    case "start", "resume": Self.away[server] = nil
    default: break
    }
  }

  private func run(_ verb: String, _ names: String...) async throws {
    let words = [verb, folder] + names
    let process = try ChildProcess("/usr/bin/env", ["python3", Repository.root + "/ops/servers"] + words)
    let status = await process.ended()
    guard status == 0 else {
      throw ChildProcess.Failure(description: "ops/servers \(words.joined(separator: " ")) ended with \(status)")
    }
  }
}

/// The folder of the checkout.
public enum Repository {
  /// The folder of Package.swift.
  public static let root: String = {
    // Sources/Harness/Fleets/TestServers.swift
    #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
  }()

  /// The folder of the built executables: the tests themselves run from it.
  public static let products: String = {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let folder = own.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    return FileManager.default.fileExists(atPath: folder + "/countersign") ? folder : root + "/.build/debug"
  }()
}
