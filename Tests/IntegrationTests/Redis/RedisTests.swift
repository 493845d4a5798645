import EventLoop
import Fleets
import Formats
import Glibc
import Redis
import ServerSupport
import TestSupport
import Testing

@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct RedisTests {
  private let endpoint = TestServers.current!.redis

  private func with(_ body: @LoopActor (RedisConnection, String) async throws -> Void) async throws {
    let connection = try await RedisConnection.open(endpoint)
    let key = "test:\(UInt64.random(in: 0...UInt64.max))"
    try await body(connection, key)
    _ = try await connection.send(["DEL", key])
    connection.close()
  }

  @Test func `every kind of reply is read`() async throws {
    try await with { redis, key in
      #expect(try await redis.send(["SET", key, "a\0b"]).string == "OK")
      #expect(try await redis.send(["GET", key]) == .text("a\u{0}b"))
      #expect(try await redis.send(["GET", key + "-none"]) == .null)
      #expect(try await redis.send(["EXISTS", key]) == .integer(1))
      let reply = try await redis.send(["EVAL", "return {1, 'two', false, {3}}", "0"])
      #expect(reply == .array([.integer(1), .text("two"), .null, .array([.integer(3)])]))
      _ = try await redis.send(["DEL", key])
      _ = try await redis.send(["HSET", key, "f", "", "g", "2"])
      #expect(try await redis.send(["HGETALL", key]).hash == ["f": "", "g": "2"])
    }
  }

  @Test func `an error of Redis is thrown with the command's name`() async throws {
    try await with { redis, key in
      _ = try await redis.send(["SET", key, "text"])
      let error = await #expect(throws: RedisError.self) { try await redis.send(["INCR", key]) }
      #expect(error?.code == .reply)
      #expect(error?.operation == "INCR")
      #expect(error?.cause.hasPrefix("ERR") == true)
    }
  }

  @Test func `ten thousand commands under way at once get their own replies`() async throws {
    try await with { redis, _ in
      let tasks = (0..<10_000).map { number in
        Task { @LoopActor in try await redis.send(["ECHO", String(number)]).string }
      }
      for (number, task) in tasks.enumerated() {
        let reply = try await task.value
        #expect(reply == String(number))
      }
    }
  }

  /// More bytes than a socket takes at once: the rest follows in order when there is room again.
  @Test func `commands larger than the socket's buffers arrive whole`() async throws {
    try await with { redis, _ in
      // `String(repeating:count:)` appends one text at a time: 64 million of them would block the loop for seconds.
      let texts = (UInt8(ascii: "0")...UInt8(ascii: "3")).map { digit in
        String(decoding: [UInt8](repeating: digit, count: 16 << 20), as: UTF8.self)
      }
      let tasks = texts.map { text in Task { @LoopActor in try await redis.send(["ECHO", text]).string } }
      for (text, task) in zip(texts, tasks) {
        let reply = try await task.value
        #expect(reply == text)
      }
      #expect(try await redis.send(["PING"]).string == "PONG")
    }
  }

  @Test func `a script runs though Redis has forgotten it`() async throws {
    let client = RedisClient(endpoint)
    client.start()
    try await eventually("ready") { client.isReady }
    let script = RedisScript("sum", arguments: ["one", "two"], "return one + two")
    #expect(try await client.run(script, arguments: ["one": "1", "two": "2"]).integer == 3)
    _ = try await client.send(["SCRIPT", "FLUSH"])
    #expect(try await client.run(script, arguments: ["one": "3", "two": "4"]).integer == 7)
    #expect(try await client.run(script, arguments: ["one": "5", "two": "6"]).integer == 11)
    let broken = RedisScript("broken", "return redis.call('NOSUCH')")
    let error = await #expect(throws: RedisError.self) { try await client.run(broken) }
    #expect(error?.operation == "script broken")
    await client.stop()
  }

  @Test func `a script reads its keys and arguments by their names`() async throws {
    let client = RedisClient(endpoint)
    client.start()
    try await eventually("ready") { client.isReady }
    let double = LuaFunction("local function double(number) return 2 * number end")
    let script = RedisScript(
      "names", functions: [double], keys: ["first"], moreKeys: "others", arguments: ["one", "two"],
      moreArguments: "rest",
      "return {first, KEYS[others], #KEYS - others + 1, one, double(two), ARGV[rest], #ARGV - rest + 1}")
    let all = try await client.run(
      script, keys: ["first": "a"], moreKeys: ["b", "c"], arguments: ["one": "d", "two": "2"],
      moreArguments: ["e", "f", "g"])
    let none = try await client.run(script, keys: ["first": "a"], arguments: ["one": "d", "two": "0"])
    #expect(
      all
        == .array([.text("a"), .text("b"), .integer(2), .text("d"), .integer(4), .text("e"), .integer(3)]))
    #expect(none.array?.count == 1)  // ends before the missing key
    await client.stop()
  }

  @Test func `the connections of a client take turns, and live and end together`() async throws {
    let losses = Mailbox<RedisError>(of: "losses of the connections")
    var endpoint = endpoint
    endpoint.connections = 3
    let client = RedisClient(endpoint) { if case .lost(let error as RedisError, _) = $0 { losses.put(error) } }
    func ids() async throws -> [Int64] {
      var ids: [Int64] = []
      for _ in 0..<6 { ids.append(try await client.send(["CLIENT", "ID"]).integer ?? 0) }
      return ids
    }
    client.start()
    try await eventually("ready") { client.isReady }
    let first = try await ids()
    #expect(Set(first).count == 3)
    #expect(first[..<3] == first[3...])

    let killer = try await RedisConnection.open(endpoint)
    _ = try await killer.send(["CLIENT", "KILL", "ID", String(first[1])])
    killer.close()
    let lost = try await losses.wait(for: 1)
    #expect(lost.map(\.code) == [.connectionLost])
    try await eventually("ready again") { client.isReady }
    let second = try await ids()
    #expect(Set(second).count == 3)
    #expect(Set(second).isDisjoint(with: first))
    await client.stop()
  }

  /// Redis reads 16 KiB of each connection between two writes to its disk.
  @Test func `what a turn sends goes over one connection, and over all when it is much`() async throws {
    var endpoint = endpoint
    endpoint.connections = 3
    let client = RedisClient(endpoint)
    client.start()
    try await eventually("ready") { client.isReady }
    /// The connections that one turn uses to send texts of a length.
    func connections(with length: Int) async throws -> Set<Int64> {
      let text = String(repeating: "x", count: length)
      let tasks = (0..<30).map { _ in
        _ = Task.immediate { @LoopActor in try await client.send(["ECHO", text]) }
        return Task.immediate { @LoopActor in try await client.send(["CLIENT", "ID"]).integer ?? 0 }
      }
      var ids: Set<Int64> = []
      for task in tasks { ids.insert(try await task.value) }
      return ids
    }
    #expect(try await connections(with: 100).count == 1)
    #expect(try await connections(with: 2000).count == 3)
    await client.stop()
  }

  @Test func `a closed port is an error`() async throws {
    var nobody = endpoint
    (nobody.sentinels, nobody.address) = (nil, ServerAddress(host: "127.0.0.1", port: 1))
    let error = await #expect(throws: RedisError.self) { try await RedisConnection.open(nobody) }
    #expect(error?.code == .unreachable)
    #expect(error?.target == "127.0.0.1:1")
  }

  @Test func `a host that does not answer is an error`() async throws {
    let port = SilentPort()
    defer { port.close() }
    var silent = endpoint
    (silent.sentinels, silent.timeout) = (nil, .milliseconds(300))
    silent.address = ServerAddress(host: "127.0.0.1", port: port.number)
    let error = await #expect(throws: RedisError.self) { try await RedisConnection.open(silent) }
    #expect(error?.code == .unreachable)
    #expect(error?.cause == "no connection in time")
  }

  @Test func `a refused password is an error`() async throws {
    var wrong = endpoint
    wrong.password = "hunter2"
    let error = await #expect(throws: RedisError.self) { try await RedisConnection.open(wrong) }
    // Behind sentinels, no node is the primary then.
    #expect(error?.code == (TestServers.current!.isCluster ? .unreachable : .reply))
    #expect(error.map { "\($0)".contains("hunter2") } == false)
  }

  @Test func `a client can be stopped at any moment, and twice`() async throws {
    for round in 0..<50 {
      let client = RedisClient(endpoint)
      if round % 3 != 0 { client.start() }
      if round % 3 == 1 { try await eventually("ready") { client.isReady } }
      // Stops while the client connects, each time a turn of the loop later.
      if round % 3 == 2 { for _ in 0..<round { try await EventLoop.sleep(for: .zero) } }
      await client.stop()
      await client.stop()
      await #expect(throws: RedisError.self) { try await client.send(["PING"]) }
    }
  }
}

/// A port with a full backlog. The system answers no client there: TCP neither connects nor fails.
private struct SilentPort {
  let number: Int
  private let descriptors: [Int32]

  init() {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptors = (0..<3).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0) }
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = bind(descriptors[0], address, size)
        _ = listen(descriptors[0], 0)
        _ = getsockname(descriptors[0], address, &size)
        for other in descriptors[1...] { _ = connect(other, address, size) }
      }
    }
    number = Int(UInt16(bigEndian: address.sin_port))
    self.descriptors = descriptors
  }

  func close() { for descriptor in descriptors { Glibc.close(descriptor) } }
}

@Suite(
  .breakingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)),
  .timeLimit(.minutes(30)))
@LoopActor
struct RedisOutageTests {
  @Test func `a client comes back after Redis was killed, and what was written is there`() async throws {
    let servers = TestServers.current!
    let losses = Mailbox<Void>(of: "losses of the connections")
    let client = RedisClient(servers.redis) { if case .lost = $0 { losses.put(()) } }
    client.start()
    try await eventually("ready") { client.isReady }
    let key = "test:\(UInt64.random(in: 0...UInt64.max))"
    _ = try await client.send(["SET", key, "kept"])
    try await servers.kill(.redis)
    try await losses.wait(for: 1)
    await #expect(throws: RedisError.self) { try await client.send(["GET", key]) }
    try await servers.start(.redis)
    try await eventually("ready again") { client.isReady }
    #expect(try await client.send(["GET", key]).string == "kept")
    _ = try await client.send(["DEL", key])
    await client.stop()
  }

  @Test func `a reply that does not come in time is an error`() async throws {
    var endpoint = TestServers.current!.redis
    endpoint.timeout = .milliseconds(300)
    // The time counts for the opening too, for which a busy machine may need longer.
    var opened: RedisConnection?
    try await eventually("a connection") {
      opened = try? await RedisConnection.open(endpoint)
      return opened != nil
    }
    let redis = try #require(opened)
    let error = await #expect(throws: RedisError.self) {
      try await redis.send(["BLPOP", "test:nothing-comes-here", "30"])
    }
    #expect(error?.code == .timeout)
    #expect(error?.operation == "BLPOP")
    await #expect(throws: RedisError.self) { try await redis.send(["PING"]) }
  }
}
