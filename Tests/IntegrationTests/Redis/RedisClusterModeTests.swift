import EventLoop
import Fleets
import Formats
import FoundationEssentials
import Glibc
import Redis
import ServerSupport
import TestSupport
import Testing

/// A Redis in cluster mode, which this test starts itself.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct RedisClusterModeTests {
  @Test func `it is refused with a sentence that says what to use instead`() async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/cluster-mode-\(UInt32.random(in: 0...UInt32.max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // Below the ports that the system gives to outgoing connections. The cluster's own port is 10,000 higher.
    let port = Int.random(in: 10_000...20_000)
    let server = try ChildProcess(
      "/usr/bin/env",
      [
        "redis-server", "--port", "\(port)", "--bind", "127.0.0.1", "--dir", folder, "--cluster-enabled", "yes",
        "--save", "",
      ],
      output: folder + "/log")
    defer { server.send(SIGKILL) }
    var endpoint = RedisEndpoint(ServerAddress(host: "127.0.0.1", port: port))
    endpoint.timeout = .seconds(300)
    var cause = ""
    try await eventually("it answers") {
      do {
        try await RedisConnection.open(endpoint).close()
        cause = "it was not refused"
      } catch let error as RedisError {
        cause = error.code == .reply ? error.cause : ""
      }
      return !cause.isEmpty
    }
    let sentence = "expected a Redis with cluster-enabled no, alone or with Sentinel"
    #expect(cause.contains("cluster mode") && cause.contains(sentence), "\(cause)")

    // A database number is refused by Redis itself, with another text.
    endpoint.database = 3
    let error = await #expect(throws: RedisError.self) { try await RedisConnection.open(endpoint) }
    #expect(error?.cause == cause)

    // A user may not be allowed to ask for the mode. Then the first write tells.
    endpoint.database = 0
    let losses = Mailbox<String>(of: "losses of the connections")
    let user = "limited"
    let admin = try ChildProcess(
      "/usr/bin/env",
      ["redis-cli", "-p", "\(port)", "ACL", "SETUSER", user, "on", ">secret", "~*", "+@all", "-info"],
      output: folder + "/admin.log")
    #expect(try await admin.ended() == 0)
    (endpoint.user, endpoint.password) = (user, "secret")
    let client = RedisClient(endpoint) { if case .lost(let error as RedisError, _) = $0 { losses.put(error.cause) } }
    client.start()
    #expect(try await losses.wait(for: 1).first == cause)
    #expect(client.trouble?.contains(" at 127.0.0.1:\(port): \(cause)") == true)
    await client.stop()
  }
}
