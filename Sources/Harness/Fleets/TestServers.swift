public import AMQP
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

  public let rabbitmq: AMQPEndpoint
  public let redis: RedisEndpoint
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
      let standby = ports["postgres-standby"],
      let password = try? Data(contentsOf: URL(filePath: folder + "/postgres.password"))
    else { return nil }
    self.folder = folder
    self.postgres = postgres
    self.standby = standby
    ledgerPassword = String(decoding: password, as: UTF8.self).replacing("\n", with: "")
    // All tests share one loop and few cores: a caller that waits for its turn has not met a failed server.
    var broker = AMQPEndpoint(host: "127.0.0.1", port: rabbitmq)
    broker.connectTimeout = .seconds(300)
    self.rabbitmq = broker
    var redisEndpoint = RedisEndpoint(host: "127.0.0.1", port: redis)
    redisEndpoint.timeout = .seconds(300)
    self.redis = redisEndpoint
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
