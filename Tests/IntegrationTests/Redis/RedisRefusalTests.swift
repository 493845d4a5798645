import EventLoop
import Fleets
import FoundationEssentials
import Redis
import ServerSupport
import TestSupport
import Testing

/// A real Redis that answers but takes no writes. Each test puts it into this state and ends the state again.
@Suite(
  .breakingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(30)))
@LoopActor
struct RedisRefusalTests {
  private let endpoint = TestServers.current!.redis
  private let key = "test:\(UInt64.random(in: 0...UInt64.max))"
  private let changes = Mailbox<String>(of: "changes of the client")

  /// Runs a body with a connection that changes Redis and a client that watches its state. Reverts the change in any
  /// case.
  private func with(
    lifting commands: [[String]], _ body: @LoopActor (RedisConnection, RedisClient) async throws -> Void
  ) async throws {
    let redis = try await RedisConnection.open(endpoint)
    let client = RedisClient(endpoint) { [changes] change in
      switch change {
      case .connected: changes.put("connected")
      case .lost(let error as RedisError, _): changes.put("lost \(error.refusal?.rawValue ?? "\(error)")")
      case .lost(let error, _): changes.put("lost \(error)")
      case .refusing(let error): changes.put("refusing \(error.refusal?.rawValue ?? "\(error)")")
      case .writable: changes.put("writable")
      }
    }
    client.start()
    do {
      try await eventually("ready") { client.isReady }
      try await body(redis, client)
    } catch {
      for command in commands { _ = try? await redis.send(command) }
      await client.stop()
      throw error
    }
    await client.stop()
    _ = try await redis.send(["DEL", key])
    redis.close()
  }

  /// Writes with a script.
  private func write(_ client: RedisClient) async throws {
    _ = try await client.send(["EVAL", "return redis.call('SET', KEYS[1], 'x')", "1", key])
  }

  @Test func `without memory the client stays connected and says so until a write succeeds`() async throws {
    try await with(lifting: [["CONFIG", "SET", "maxmemory", "0"]]) { redis, client in
      #expect(client.trouble == nil)
      try await write(client)
      _ = try await redis.send(["CONFIG", "SET", "maxmemory", "1"])
      let plain = await #expect(throws: RedisError.self) { try await client.send(["SET", key, "y"]) }
      #expect(plain?.refusal == .outOfMemory)
      let ofScript = await #expect(throws: RedisError.self) { try await write(client) }
      #expect(ofScript?.refusal == .outOfMemory)
      #expect(client.trouble?.hasPrefix("OOM") == true)
      // Reads still work.
      #expect(client.isReady)
      #expect(try await client.send(["GET", key]).string == "x")
      #expect(changes.all == ["connected", "refusing OOM"])
      _ = try await redis.send(["CONFIG", "SET", "maxmemory", "0"])
      let all = try await changes.wait(for: 3)
      #expect(all == ["connected", "refusing OOM", "writable"])
      #expect(client.trouble == nil)
      try await write(client)
    }
  }

  @Test func `a script alone is enough to notice`() async throws {
    try await with(lifting: [["CONFIG", "SET", "maxmemory", "0"]]) { redis, client in
      _ = try await redis.send(["CONFIG", "SET", "maxmemory", "1"])
      await #expect(throws: RedisError.self) { try await write(client) }
      #expect(client.trouble?.hasPrefix("OOM") == true)
      _ = try await redis.send(["CONFIG", "SET", "maxmemory", "0"])
      try await changes.wait { $0.last == "writable" }
    }
  }

  /// A snapshot cannot replace a folder, not even as root.
  @Test func `when the disk takes nothing, new and old clients are connected and say so`() async throws {
    try await with(lifting: [["CONFIG", "SET", "save", ""]]) { redis, client in
      let folder = try #require(try await redis.send(["CONFIG", "GET", "dir"]).hash["dir"])
      let snapshot = folder + "/dump.rdb"
      // A node of a cluster has one from its replication. Nobody needs it: the log has everything.
      try? FileManager.default.removeItem(atPath: snapshot)
      try FileManager.default.createDirectory(atPath: snapshot, withIntermediateDirectories: false)
      // Redis starts from its log of writes, and needs no snapshot.
      defer { try? FileManager.default.removeItem(atPath: snapshot) }
      _ = try await redis.send(["CONFIG", "SET", "save", "3600 1000000"])
      _ = try await redis.send(["CONFIG", "SET", "stop-writes-on-bgsave-error", "yes"])
      _ = try await redis.send(["BGSAVE"])
      try await eventually("the snapshot has failed") {
        try await redis.send(["INFO", "persistence"]).string?.contains("rdb_last_bgsave_status:err") == true
      }
      let ofScript = await #expect(throws: RedisError.self) { try await write(client) }
      #expect(ofScript?.refusal == .misconfigured)
      #expect(client.trouble?.hasPrefix("MISCONF") == true)

      let later = RedisClient(endpoint)
      later.start()
      try await eventually("the later one is connected") { later.isReady }
      #expect(later.trouble?.hasPrefix("MISCONF") == true)
      await later.stop()

      try FileManager.default.removeItem(atPath: snapshot)
      _ = try await redis.send(["CONFIG", "SET", "save", ""])
      let all = try await changes.wait(for: 3)
      #expect(all == ["connected", "refusing MISCONF", "writable"])
      _ = try await redis.send(["BGSAVE"])
      try await eventually("the next snapshot has succeeded") {
        try await redis.send(["INFO", "persistence"]).string?.contains("rdb_last_bgsave_status:ok") == true
      }
    }
  }

  @Test(.enabled(if: TestServers.current?.isCluster != true, "sentinels would choose another primary"))
  func `a replica is left, and connected to again when it is the primary`() async throws {
    try await with(lifting: [["REPLICAOF", "NO", "ONE"]]) { redis, client in
      let first = try await client.send(["CLIENT", "ID"]).integer ?? 0
      // No server listens there: the replica keeps its data.
      _ = try await redis.send(["REPLICAOF", "127.0.0.1", "1"])
      let ofScript = await #expect(throws: RedisError.self) { try await write(client) }
      #expect(ofScript?.refusal == .readOnly)
      #expect(!client.isReady)
      // The client tries again, and does not use a replica as a server.
      let left = try await changes.wait { $0.count >= 4 }
      #expect(left == ["connected"] + Array(repeating: "lost READONLY", count: left.count - 1))
      #expect(client.trouble?.contains(": READONLY") == true)
      _ = try await redis.send(["REPLICAOF", "NO", "ONE"])
      try await eventually("ready again") { client.isReady }
      #expect(client.trouble == nil)
      #expect(try await client.send(["CLIENT", "ID"]).integer ?? 0 > first)
      try await write(client)
    }
  }
}
