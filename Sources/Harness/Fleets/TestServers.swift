public import AMQP
import EventLoop
import FoundationEssentials
public import Redis

/// The private RabbitMQ and Redis of the tests; `ops/test` starts them.
public struct TestServers: Sendable {
  /// One of the two.
  public enum Server: String, Sendable { case rabbitmq, redis }

  /// The servers of this run; `nil` when `ops/test` did not start the tests.
  public static let current: TestServers? = ProcessInfo.processInfo.environment["COUNTERSIGN_TEST_SERVERS"]
    .flatMap(TestServers.init)

  /// Says how to get servers.
  public static let hint = "needs RabbitMQ and Redis: run ops/test"

  public let rabbitmq: AMQPEndpoint
  public let redis: RedisEndpoint
  private let folder: String

  private init?(folder: String) {
    guard let data = try? Data(contentsOf: URL(filePath: folder + "/ports.json")),
      let ports = try? JSONDecoder().decode([String: Int].self, from: data),
      let rabbitmq = ports["rabbitmq"], let redis = ports["redis"]
    else { return nil }
    self.folder = folder
    // All tests share one loop and few cores: a caller that waits for its turn has not met a failed server.
    var broker = AMQPEndpoint(host: "127.0.0.1", port: rabbitmq)
    broker.connectTimeout = .seconds(300)
    self.rabbitmq = broker
    var redisEndpoint = RedisEndpoint(host: "127.0.0.1", port: redis)
    redisEndpoint.timeout = .seconds(300)
    self.redis = redisEndpoint
  }

  /// Starts a server and waits until it answers.
  @LoopActor public func start(_ server: Server) async throws { try await run("start", server) }
  /// Stops a server properly.
  @LoopActor public func stop(_ server: Server) async throws { try await run("stop", server) }
  /// Kills a server with SIGKILL.
  @LoopActor public func kill(_ server: Server) async throws { try await run("kill", server) }
  /// Stops a server with SIGSTOP: connections stay, and nothing answers.
  @LoopActor public func pause(_ server: Server) async throws { try await run("pause", server) }
  /// Lets a paused server go on.
  @LoopActor public func resume(_ server: Server) async throws { try await run("resume", server) }
  /// Deletes the data of a stopped server.
  @LoopActor public func wipe(_ server: Server) async throws { try await run("wipe", server) }

  /// Makes RabbitMQ raise its memory alarm.
  @LoopActor public func raiseAlarm() async throws { try await run("alarm", .rabbitmq) }
  /// Makes RabbitMQ end its memory alarm.
  @LoopActor public func endAlarm() async throws { try await run("calm", .rabbitmq) }

  @LoopActor
  private func run(_ verb: String, _ server: Server) async throws {
    let script = Repository.root + "/ops/servers"
    let process = try ChildProcess("/usr/bin/env", ["python3", script, verb, folder, server.rawValue])
    let status = await process.ended()
    guard status == 0 else {
      throw ChildProcess.Failure(description: "ops/servers \(verb) \(server) ended with \(status)")
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
