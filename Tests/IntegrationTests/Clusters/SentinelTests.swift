import EventLoop
import Fleets
import Formats
import Redis
import ServerSupport
import TestSupport
import Testing

/// A Redis with two replicas and three sentinels: `ops/test --cluster`.
@Suite(
  .breakingServers, .enabled(if: TestServers.current?.isCluster == true, "needs a cluster: run ops/test --cluster"),
  .timeLimit(.minutes(30)))
@LoopActor
struct SentinelTests {
  private let servers = TestServers.current!
  private let key = "test:\(UInt64.random(in: 0...UInt64.max))"

  /// A client that is ready, and its losses.
  private func with(_ body: @LoopActor (RedisClient, Mailbox<String>) async throws -> Void) async throws {
    let losses = Mailbox<String>(of: "losses of the connections")
    var endpoint = servers.redis
    endpoint.timeout = .seconds(3)
    let client = RedisClient(endpoint) { if case .lost(let error, _) = $0 { losses.put("\(error)") } }
    client.start()
    do {
      try await eventually("ready") { client.isReady }
      try await body(client, losses)
      await client.stop()
    } catch {
      await client.stop()
      try await servers.mend()
      throw error
    }
    try await servers.start(.redis)
  }

  /// The reply to a command that may be sent twice. A node that stands still for longer than the client waits loses its
  /// connections, and may lose its place as the primary.
  private func reply(of client: RedisClient, to command: String...) async throws -> RESPValue {
    var reply: RESPValue?
    try await eventually("a reply to \(command[0])") {
      reply = try? await client.send(command)
      return reply != nil
    }
    return try #require(reply)
  }

  @Test func `a client follows the primary that the sentinels choose after a kill`() async throws {
    try await with { client, _ in
      _ = try await reply(of: client, to: "SET", key, "before")
      let primary = try await servers.primary()
      try await servers.kill(primary)
      try await eventually("another primary takes writes") {
        (try? await client.send(["SET", key, "after"]).string) == "OK"
      }
      #expect(try await servers.primary() != primary)
      #expect(try await reply(of: client, to: "GET", key).string == "after")
      _ = try await reply(of: client, to: "DEL", key)
    }
  }

  @Test func `a client leaves a frozen primary, though it sends nothing`() async throws {
    try await with { client, losses in
      let primary = try await servers.primary()
      try await servers.pause(primary)
      let lost = try await losses.wait { $0.contains { $0.contains("the primary is now") } }
      #expect(!lost.isEmpty)
      try await eventually("ready at the new primary") { client.isReady }
      try await servers.resume(primary)
      _ = try await reply(of: client, to: "SET", key, "kept", "PX", "600000")
      // The old one becomes a replica of the new one. What it took meanwhile would be gone.
      try await servers.start(.redis)
      #expect(try await reply(of: client, to: "GET", key).string == "kept")
    }
  }

  @Test func `sentinels that do not answer, and names that they do not know, are told`() async throws {
    var endpoint = servers.redis
    endpoint.sentinels?.addresses.insert(ServerAddress(host: "127.0.0.1", port: 1), at: 0)
    let connection = try await RedisConnection.open(endpoint)
    #expect(try await connection.send(["ROLE"]).array?.first?.string == "master")
    connection.close()
    endpoint.sentinels?.primaryName = "nobody"
    let error = await #expect(throws: RedisError.self) { try await RedisConnection.open(endpoint) }
    #expect(error?.code == .unreachable)
    #expect(error?.cause.contains("it watches no primary named nobody") == true)
  }
}
