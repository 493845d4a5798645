public import AMQP
import Crypto
public import EventLoop
import Formats
import FoundationEssentials
public import Redis
import TestSupport

/// The private servers of the tests; `ops/test` starts them.
public struct TestServers: Sendable {
  /// One of the servers.
  public enum Server: String, Sendable {
    /// In a cluster, `rabbitmq` and `redis` mean all their nodes, and the sentinels.
    case rabbitmq, redis, postgres
    /// A copy of the ledger. Each commit of `postgres` waits for it from its start to its end.
    case standby = "postgres-standby"
    /// The nodes of a cluster.
    case rabbitmq1 = "rabbitmq-1"
    case rabbitmq2 = "rabbitmq-2"
    case rabbitmq3 = "rabbitmq-3"
    case redis1 = "redis-1"
    case redis2 = "redis-2"
    case redis3 = "redis-3"
    case sentinel1 = "sentinel-1"
    case sentinel2 = "sentinel-2"
    case sentinel3 = "sentinel-3"

    /// The nodes of RabbitMQ.
    public static let brokers: [Server] = [.rabbitmq1, .rabbitmq2, .rabbitmq3]
    /// The nodes of Redis.
    public static let stores: [Server] = [.redis1, .redis2, .redis3]
    static let sentinels: [Server] = [.sentinel1, .sentinel2, .sentinel3]
  }

  /// The servers of this run; `nil` when `ops/test` did not start the tests.
  public static let current: TestServers? = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_SERVERS"]
    .flatMap(TestServers.init)

  /// Says how to get servers.
  public static let hint = "needs RabbitMQ, Redis and PostgreSQL: run ops/test"

  /// Whether the servers speak TLS on their usual ports: `ops/test --tls`.
  public static let usesTLS = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_TLS"] == "1"

  /// Whether the running code has the servers for itself. A test that shares them would break those of others.
  @TaskLocal public static var mayBreak = true

  public let rabbitmq: AMQPEndpoint
  public let redis: RedisEndpoint
  /// RabbitMQ with TLS, in every run.
  public let encryptedRabbitMQ: AMQPEndpoint
  /// Redis with TLS, in every run.
  public let encryptedRedis: RedisEndpoint
  /// Whether there are several nodes of each server: `ops/test --cluster`.
  public let isCluster: Bool
  /// Whether a node of RabbitMQ can be cut off from the others.
  public let canPartition: Bool
  /// The port of the ledger.
  public let postgres: Int
  /// The port of the ledger's standby.
  public let standby: Int
  private let ledgerPassword: String
  /// Host and port of each node of Redis, in a cluster.
  private let storePlaces: [ServerAddress]
  fileprivate let folder: String

  private init?(folder: String) {
    guard let data = try? Data(contentsOf: URL(filePath: folder + "/ports.json")),
      let ports = try? JSONDecoder().decode([String: Int].self, from: data),
      let postgres = ports["postgres"], let standby = ports["postgres-standby"],
      let password = try? Data(contentsOf: URL(filePath: folder + "/postgres.password"))
    else { return nil }
    struct Addresses: Decodable { let nodes: [String: String] }
    let addresses = (try? Data(contentsOf: URL(filePath: folder + "/addresses.json")))
      .flatMap { try? JSONDecoder().decode(Addresses.self, from: $0).nodes }
    isCluster = addresses != nil
    canPartition = addresses?["rabbitmq-1"]?.hasPrefix("127.") == false
    /// The address of a server's usual port, or of its port for TLS.
    func place(_ server: Server, tls: Bool = false) -> ServerAddress? {
      ports[server.rawValue + (tls ? "-tls" : "")].map {
        ServerAddress(host: addresses?[server.rawValue] ?? "127.0.0.1", port: $0)
      }
    }
    let brokers = isCluster ? Server.brokers : [.rabbitmq]
    let stores: [Server] = isCluster ? [.redis1] : [.redis]
    guard let store = place(stores[0]), let encryptedStore = place(stores[0], tls: true) else { return nil }
    storePlaces = isCluster ? Server.stores.compactMap { place($0) } : []
    self.folder = folder
    self.postgres = postgres
    self.standby = standby
    ledgerPassword = String(decoding: password, as: UTF8.self).replacing("\n", with: "")
    // All tests share one loop and few cores: a caller that waits for its turn has not met a failed server.
    var broker = AMQPEndpoint(host: "")
    broker.nodes = brokers.compactMap { place($0) }
    broker.connectTimeout = .seconds(300)
    broker.replyTimeout = .seconds(300)
    var redisEndpoint = RedisEndpoint(store)
    redisEndpoint.timeout = .seconds(300)
    if isCluster {
      redisEndpoint.sentinels = RedisSentinels(
        Server.sentinels.compactMap { place($0) }, primaryName: Self.primaryName)
    }
    let files = TLSClientFiles(caFile: Self.file("ca.pem", in: folder))
    if Self.usesTLS { (broker.tls, redisEndpoint.tls) = (files, files) }
    (self.rabbitmq, self.redis) = (broker, redisEndpoint)
    (broker.tls, redisEndpoint.tls) = (files, files)
    if !Self.usesTLS {
      broker.nodes = brokers.compactMap { place($0, tls: true) }
      // The sentinels name only the usual ports.
      redisEndpoint.sentinels = nil
      redisEndpoint.address.port = encryptedStore.port
    }
    (encryptedRabbitMQ, encryptedRedis) = (broker, redisEndpoint)
  }

  /// The name under which the sentinels watch the primary.
  private static let primaryName = "mymaster"

  private static func file(_ name: String, in folder: String) -> String { "\(folder)/tls/\(name)" }

  /// A file of the servers' certificates: `ca.pem`, `ca.key`, `client.pem` or `client.key`.
  public func certificateFile(_ name: String) -> String { Self.file(name, in: folder) }

  /// The log of a server, with that of its earlier starts.
  public func logFile(of server: Server) -> String { "\(folder)/\(server.rawValue).log" }

  /// The URL of RabbitMQ for a role.
  ///
  /// - Parameter port: perhaps of a proxy; `nil` means the server's own.
  public func rabbitmqURL(port: Int? = nil) -> String {
    let hosts = port.map { "127.0.0.1:\($0)" } ?? rabbitmq.description
    return "amqp\(Self.usesTLS ? "s" : "")://guest:guest@\(hosts)/%2F"
  }

  /// The URL of Redis for a role.
  ///
  /// - Parameter port: perhaps of a proxy; `nil` means the server's own.
  public func redisURL(port: Int? = nil) -> String {
    let scheme = "redis\(Self.usesTLS ? "s" : "")"
    guard port == nil, let sentinels = redis.sentinels else {
      return "\(scheme)://127.0.0.1:\(port ?? redis.address.port)/0"
    }
    let hosts = sentinels.addresses.map(\.description).joined(separator: ",")
    return "\(scheme)+sentinel://\(hosts)/\(Self.primaryName)/0"
  }

  /// The authority of the servers, as the rest of a section in a role's configuration; empty without TLS.
  public var authoritySetting: String {
    Self.usesTLS ? #", "caFile": "\#(certificateFile("ca.pem"))""# : ""
  }

  /// The URL of a database in the ledger's server, with its password.
  ///
  /// - Parameter ports: the ports of its hosts, perhaps of proxies; `nil` means the server's own.
  public func ledgerURL(database: String, ports: [Int]? = nil) -> String {
    let hosts = (ports ?? (isCluster ? [postgres, standby] : [postgres])).map { "127.0.0.1:\($0)" }.joined(
      separator: ",")
    return "postgresql://countersign:\(ledgerPassword)@\(hosts)/\(database)"
  }
}

@LoopActor
extension TestServers {
  /// Creates a virtual host of RabbitMQ, in which the usual user may do everything.
  public func createVirtualHost(_ name: String) async throws { try await run("create-vhost", name) }
  /// Deletes a virtual host with all that is in it. Its connections end.
  public func deleteVirtualHost(_ name: String) async throws { try await run("delete-vhost", name) }

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
    try checkAlone("flushRedis")
    let connection = try await RedisConnection.open(redis)
    defer { connection.close() }
    _ = try await connection.send(["FLUSHALL"])
  }

  /// Makes RabbitMQ raise its memory alarm.
  public func raiseAlarm() async throws { try await run("alarm") }
  /// Makes RabbitMQ end its memory alarm.
  public func endAlarm() async throws { try await run("calm") }

  /// Makes a user of the three servers, or gives it another password. It may do what the fleet may.
  ///
  /// - Parameter configure: matches the names of queues and exchanges that it may declare.
  public func setPassword(of user: String, to password: String, configure: String = ".*") async throws {
    try await run("user", user, password, configure)
    let connection = try await RedisConnection.open(redis)
    defer { connection.close() }
    _ = try await connection.send(["ACL", "SETUSER", user, "on", "resetpass", ">" + password, "~*", "&*", "+@all"])
  }

  /// Closes a user's connections to the three servers.
  public func disconnect(_ user: String) async throws {
    try await run("disconnect", user)
    let connection = try await RedisConnection.open(redis)
    defer { connection.close() }
    _ = try await connection.send(["CLIENT", "KILL", "USER", user])
  }

  /// Starts Redis or PostgreSQL again, empty, with its data on a small disk.
  public func confine(_ server: Server) async throws {
    try await run("confine", server.rawValue)
    if server == .postgres { Self.isLedgerConfined = true }
  }
  /// Starts a confined server again, empty, without its small disk.
  public func release(_ server: Server) async throws {
    if server == .postgres { Self.isLedgerConfined = false }
    try await run("release", server.rawValue)
  }
  /// Whether the databases of the ledger's server belong on its small disk.
  static var isLedgerConfined = false
  /// Leaves no room on the disk of a confined server, or of RabbitMQ.
  public func fillDisk(of server: Server) async throws { try await run("fill", server.rawValue) }
  /// Gives the room back.
  public func emptyDisk(of server: Server) async throws { try await run("empty", server.rawValue) }

  /// Stops the only member of a quorum queue: like a queue without a majority, it confirms nothing.
  public func stall(queue: String) async throws { try await run("stall", queue) }
  /// Starts the member of a stalled queue again.
  public func unstall(queue: String) async throws { try await run("unstall", queue) }

  /// Makes a base backup of the ledger, and archives its WAL from now on.
  public func backUpLedger() async throws { try await run("back-up") }
  /// Kills the ledger, and brings it back from the backup as it was at a time, in milliseconds since 1970.
  public func restoreLedger(to time: Int64) async throws { try await run("restore", rfc3339(milliseconds: time)) }

  /// Makes the standby the ledger's primary server. The old one must be down.
  public func promoteStandby() async throws { try await run("promote") }

  /// The node of RabbitMQ that leads a quorum queue.
  ///
  /// - Parameter node: another node than this one is asked.
  public func leader(of queue: String, besides node: Server? = nil) async throws -> Server {
    if let node { return try await server("leader", queue, node.rawValue) }
    return try await server("leader", queue)
  }
  /// The node of Redis that the sentinels call the primary.
  public func primary() async throws -> Server { try await server("primary") }

  /// Cuts a node of RabbitMQ off from the others, until ``endPartition()``.
  public func cut(_ node: Server) async throws { try await run("cut", node.rawValue) }
  /// Lets all nodes of RabbitMQ reach each other again.
  public func endPartition() async throws { try await run("mend") }

  private func server(_ verb: String, _ names: String...) async throws -> Server {
    let output = folder + "/answer-\(UInt32.random(in: 0...UInt32.max))"
    defer { try? FileManager.default.removeItem(atPath: output) }
    let words = [verb, folder] + names
    let process = try ChildProcess(
      "/usr/bin/env", ["python3", Repository.root + "/ops/servers"] + words, output: output)
    let status = try await process.ended()
    let text = (try? Data(contentsOf: URL(filePath: output))).map { String(decoding: $0, as: UTF8.self) } ?? ""
    guard status == 0, let server = text.split(separator: "\n").last.flatMap({ Server(rawValue: String($0)) }) else {
      throw ChildProcess.Failure(description: "ops/servers \(words.joined(separator: " ")): \(text)")
    }
    return server
  }

  /// A connection to one node of Redis, which may be a replica.
  public func connection(to store: Server) async throws -> RedisConnection {
    var endpoint = redis
    endpoint.sentinels = nil
    let place = Server.stores.firstIndex(of: store).flatMap { storePlaces.count > $0 ? storePlaces[$0] : nil }
    if let place { endpoint.address = place }
    return try await RedisConnection.open(endpoint)
  }

  /// Whether a node of RabbitMQ takes connections.
  public func takesConnections(_ broker: Server) async throws -> Bool {
    var endpoint = rabbitmq
    guard let place = Server.brokers.firstIndex(of: broker), place < endpoint.nodes.count else { return false }
    endpoint.nodes = [endpoint.nodes[place]]
    endpoint.connectTimeout = .seconds(1)
    guard let connection = try? await AMQPConnection.open(endpoint, name: "look") else { return false }
    await connection.close()
    return true
  }

  /// A number of a Redis' information about its replication.
  public func replicationField(_ name: String, of store: Server) async throws -> Int64 {
    let connection = try await connection(to: store)
    defer { connection.close() }
    let text = try await connection.send(["INFO", "replication"]).string ?? ""
    let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("\(name):") }
    return line.flatMap { Int64($0.dropFirst(name.utf8.count + 1)) } ?? -1
  }

  /// Starts the ledger again, empty. Only in a cluster it has a standby then.
  public func forgetStandby() async throws {
    for server in [Server.standby, .postgres] {
      try await kill(server)
      try await wipe(server)
    }
    try await start(.postgres)
    if isCluster { try await start(.standby) }
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

  private func checkAlone(_ verb: String) throws {
    guard Self.mayBreak else {
      throw ChildProcess.Failure(description: "\(verb) breaks the servers of other tests: say .breakingServers")
    }
  }

  /// The verbs of ops/servers that others notice.
  private static let breaking: Set<String> = [
    "start", "stop", "kill", "pause", "resume", "wipe", "confine", "fill", "alarm", "promote", "cut", "restore",
  ]

  private func run(_ verb: String, _ names: String...) async throws {
    if Self.breaking.contains(verb) { try checkAlone(verb) }
    let words = [verb, folder] + names
    let process = try ChildProcess("/usr/bin/env", ["python3", Repository.root + "/ops/servers"] + words)
    let status = try await process.ended()
    guard status == 0 else {
      throw ChildProcess.Failure(description: "ops/servers \(words.joined(separator: " ")) ended with \(status)")
    }
  }
}
