import Crypto
import EventLoop
import Fleets
import Redis
import ServerSupport
import TestSupport
import Testing

/// A real Redis over TLS. Some of these tests change how it treats all clients.
@Suite(
  .breakingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(30)))
@LoopActor
struct RedisTLSTests {
  private let servers = TestServers.current!
  private var endpoint: RedisEndpoint { servers.encryptedRedis }
  /// One node, which may be a replica, so that its own refusal is told.
  private var node: RedisEndpoint {
    var node = endpoint
    node.sentinels = nil
    return node
  }

  @Test func `commands and replies of every size arrive whole`() async throws {
    let redis = try await RedisConnection.open(endpoint)
    let tasks = stride(from: 0, through: 200_000, by: 1999).map { size in
      Task { @LoopActor in
        let text = String(decoding: [UInt8](repeating: 120, count: size), as: UTF8.self)
        return try await redis.send(["ECHO", text]).string == text
      }
    }
    for task in tasks { #expect(try await task.value) }
    redis.close()
  }

  @Test func `more bytes than the system's buffers take arrive whole`() async throws {
    let redis = try await RedisConnection.open(endpoint)
    let texts = (UInt8(ascii: "0")...UInt8(ascii: "3")).map { digit in
      String(decoding: [UInt8](repeating: digit, count: 3 << 20), as: UTF8.self)
    }
    let tasks = texts.map { text in Task { @LoopActor in try await redis.send(["ECHO", text]).string == text } }
    for task in tasks { #expect(try await task.value) }
    redis.close()
  }

  @Test(
    .enabled(
      if: TestServers.current?.isCluster != true || TestServers.usesTLS,
      "this node of a cluster may be a replica; SentinelTests follow the primary"))
  func `a client that loses its connections opens them again`() async throws {
    let losses = Mailbox<Void>(of: "losses of the connections")
    let client = RedisClient(endpoint) { if case .lost = $0 { losses.put(()) } }
    client.start()
    try await eventually("ready") { client.isReady }
    let id = try await client.send(["CLIENT", "ID"]).integer ?? 0
    _ = try? await client.send(["CLIENT", "KILL", "ID", String(id), "SKIPME", "no"])
    try await losses.wait(for: 1)
    try await eventually("ready again") { client.isReady }
    #expect(try await client.send(["PING"]).string == "PONG")
    await client.stop()
  }

  @Test func `a Redis that wants a certificate gets one, and refuses a client without it`() async throws {
    let admin = try await RedisConnection.open(node)
    _ = try await admin.send(["CONFIG", "SET", "tls-auth-clients", "yes"])
    let refused = await #expect(throws: RedisError.self) { try await RedisConnection.open(node) }
    var known = node
    known.tls?.certificateFile = servers.certificateFile("client.pem")
    known.tls?.privateKeyFile = servers.certificateFile("client.key")
    let answer = await Result { try await RedisConnection.open(known) }
    _ = try await admin.send(["CONFIG", "SET", "tls-auth-clients", "optional"])
    admin.close()
    #expect(refused?.cause.contains("certificate required") == true)
    let redis = try answer.get()
    #expect(try await redis.send(["PING"]).string == "PONG")
    redis.close()
  }

  @Test func `a user of an access control list logs in`() async throws {
    let admin = try await RedisConnection.open(node)
    let name = "tester-\(UInt32.random(in: 0 ... .max))"
    _ = try await admin.send(["ACL", "SETUSER", name, "on", ">a password", "~*", "+@all"])
    var own = node
    (own.user, own.password) = (name, "a password")
    let redis = try await RedisConnection.open(own)
    #expect(try await redis.send(["ACL", "WHOAMI"]).string == name)
    redis.close()
    own.password = "hunter2"
    let refused = await #expect(throws: RedisError.self) { try await RedisConnection.open(own) }
    #expect(refused?.code == .reply && refused?.cause.hasPrefix("WRONGPASS") == true)
    #expect(refused.map { "\($0)".contains("hunter2") } == false)
    _ = try await admin.send(["ACL", "DELUSER", name])
    admin.close()
  }

  @Test func `a Redis of an unknown authority is refused`() async throws {
    var stranger = node
    stranger.tls = TLSClientFiles()
    let error = await #expect(throws: RedisError.self) { try await RedisConnection.open(stranger) }
    #expect(error?.code == .unreachable && error?.operation == "shake hands over TLS")
    #expect(error?.cause.contains("certificate verify failed") == true)
  }

  @Test func `a URL without TLS leads to rediss`() async throws {
    var plain = node
    plain.tls = nil
    plain.timeout = .seconds(20)
    let error = await #expect(throws: RedisError.self) { try await RedisConnection.open(plain) }
    let advice = "; if this port speaks TLS, use rediss:// or rediss+sentinel:// in the URL"
    #expect(error?.cause.hasSuffix(advice) == true, "\(String(describing: error))")
  }
}

extension Result where Failure == any Error {
  /// The outcome of an asynchronous call.
  @LoopActor
  fileprivate init(_ body: @LoopActor () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
