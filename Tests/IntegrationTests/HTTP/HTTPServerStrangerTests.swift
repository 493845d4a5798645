import EventLoop
import Fleets
import HTTPServer
import TestSupport
import Testing

/// What a client without a credential can hold of a server: places, room and time.
@Suite(.timeLimit(.minutes(15)))
@LoopActor
struct HTTPServerStrangerTests {
  /// What the server has told of the connections that it cut and the bodies that it refused.
  private final class Told {
    var cuts: [HTTPServer.CutCause] = []
    var bodies: [HTTPServer.BodyRefusalCause] = []
  }

  /// Deadlines and a grace that no test reaches. Each test sets the one that it is about.
  private static var unhurried: HTTPServer.Configuration {
    var configuration = HTTPServer.Configuration.unlimited
    configuration.headTimeout = .seconds(3600)
    configuration.bodyTimeout = .seconds(3600)
    configuration.idleTimeout = .seconds(3600)
    configuration.placeGrace = .seconds(3600)
    return configuration
  }

  private func with(
    _ configuration: HTTPServer.Configuration, handler: @escaping HTTPServer.Handler = { _ in .text(200, "here") },
    _ body: @LoopActor (HTTPServer, Told) async throws -> Void
  ) async throws {
    let told = Told()
    var configuration = configuration
    configuration.onCut = { told.cuts.append($0) }
    configuration.onBodyRefused = { told.bodies.append($0) }
    try await HTTPServer.running(configuration, handler: handler) { try await body($0, told) }
  }

  private static let question = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let halfHead = Array("GET /x HTTP/1.1\r\nHost: ".utf8)

  private static func half(_ declared: Int, _ sent: Int, fields: String = "") -> [UInt8] {
    Array("POST /large HTTP/1.1\r\nHost: a\r\n\(fields)Content-Length: \(declared)\r\n\r\n".utf8)
      + [UInt8](repeating: 97, count: sent)
  }

  // MARK: Time

  @Test func `a head that does not come is closed`() async throws {
    var configuration = Self.unhurried
    configuration.headTimeout = .milliseconds(100)
    try await with(configuration) { server, told in
      for bytes in [[], Self.halfHead] {
        let connection = try RawConnection(port: server.port)
        connection.put(bytes)
        #expect(try await connection.status(of: "") == 408)
        try await connection.end()
        connection.close()
      }
      #expect(told.cuts == [.slowHead, .slowHead])
    }
  }

  @Test func `a body that does not come in its time is closed`() async throws {
    var configuration = Self.unhurried
    configuration.bodyTimeout = .milliseconds(100)
    try await with(configuration) { server, told in
      let connection = try RawConnection(port: server.port)
      defer { connection.close() }
      connection.put(Self.half(1000, 500))
      #expect(try await connection.status(of: "") == 408)
      try await connection.end()
      #expect(told.cuts == [.slowBody])
    }
  }

  @Test func `a body below the least pace is closed`() async throws {
    var configuration = Self.unhurried
    configuration.headTimeout = .seconds(20)
    configuration.minBodyRate = 1 << 30
    try await with(configuration) { server, told in
      let connection = try RawConnection(port: server.port)
      defer { connection.close() }
      connection.put(Self.half(1000, 500))
      #expect(try await connection.status(of: "") == 408)
      try await connection.end()
      #expect(told.cuts == [.slowBody])
    }
  }

  // MARK: Places

  @Test func `half heads in all places do not keep a newcomer out`() async throws {
    var configuration = Self.unhurried
    configuration.maxConnections = 8
    configuration.placeGrace = .zero
    try await with(configuration) { server, told in
      var strangers: [RawConnection] = []
      for _ in 0..<24 {
        let connection = try RawConnection(port: server.port)
        connection.put(Self.halfHead)
        strangers.append(connection)
      }
      for _ in 0..<3 {
        let newcomer = try RawConnection(port: server.port)
        #expect(try await newcomer.status(of: Self.question) == 200)
        newcomer.close()
      }
      try await strangers[0].end()
      #expect(Set(told.cuts) == [.places])
      #expect(server.openConnections <= 8)
      for connection in strangers { connection.close() }
    }
  }

  @Test func `silent connections give way behind half heads`() async throws {
    var configuration = Self.unhurried
    configuration.maxConnections = 2
    configuration.placeGrace = .zero
    try await with(configuration) { server, _ in
      let silent = try RawConnection(port: server.port)
      #expect(try await silent.status(of: Self.question) == 200)
      let half = try RawConnection(port: server.port)
      half.put(Self.halfHead)
      let first = try RawConnection(port: server.port)
      #expect(try await first.status(of: Self.question) == 200)
      try await half.end()
      let second = try RawConnection(port: server.port)
      #expect(try await second.status(of: Self.question) == 200)
      try await silent.end()
      for connection in [silent, half, first, second] { connection.close() }
    }
  }

  @Test func `one address has its share of the places, and others the rest`() async throws {
    var configuration = Self.unhurried
    configuration.maxConnectionsPerAddress = 4
    try await with(configuration) { server, told in
      var strangers: [RawConnection] = []
      for _ in 0..<4 {
        let connection = try RawConnection(port: server.port, from: "127.0.0.2")
        connection.put(Self.halfHead)
        strangers.append(connection)
      }
      let fifth = try RawConnection(port: server.port, from: "127.0.0.2")
      try await fifth.end()
      #expect(told.cuts == [.addressShare])
      let other = try RawConnection(port: server.port, from: "127.0.0.3")
      #expect(try await other.status(of: Self.question) == 200)
      for connection in strangers + [fifth, other] { connection.close() }
    }
  }

  @Test func `four addresses in all places keep nobody else out, within their grace`() async throws {
    var configuration = Self.unhurried
    configuration.maxConnections = 64
    try await with(configuration) { server, told in
      var strangers: [RawConnection] = []
      for place in 0..<64 {
        let connection = try RawConnection(port: server.port, from: "127.0.0.\(2 + place % 4)")
        connection.put(Self.halfHead)
        strangers.append(connection)
      }
      try await eventually("they have what they can get") { server.openConnections >= 63 }
      for number in 10...14 {
        let newcomer = try RawConnection(port: server.port, from: "127.0.0.\(number)")
        #expect(try await newcomer.status(of: Self.question) == 200)
        newcomer.close()
      }
      #expect(Set(told.cuts) == [.places])
      for connection in strangers { connection.close() }
    }
  }

  @Test func `requests of one address that run leave places to others, and give theirs back with their answers`()
    async throws
  {
    var configuration = Self.unhurried
    configuration.maxConnections = 64
    let gate = Gate()
    let handler: HTTPServer.Handler = { request in
      guard request.path == ["held"] else { return .text(200, "here") }
      await gate.pass()
      return .text(200, "held")
    }
    try await with(configuration, handler: handler) { server, told in
      var strangers: [RawConnection] = []
      for _ in 0..<63 {
        let connection = try RawConnection(port: server.port, from: "127.0.0.2")
        connection.put(Array("GET /held HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        strangers.append(connection)
      }
      try await gate.holds(63)
      let further = try RawConnection(port: server.port, from: "127.0.0.2")
      try await further.end()
      #expect(told.cuts == [.places])
      let newcomer = try RawConnection(port: server.port, from: "127.0.0.3")
      #expect(try await newcomer.status(of: Self.question) == 200)
      gate.open()
      for connection in strangers { #expect(try await connection.status(of: "") == 200) }
      try await eventually("their connections end behind their answers") { strangers.contains { $0.isClosed } }
      #expect(told.cuts == [.places])
      for connection in strangers + [further, newcomer] { connection.close() }
    }
  }

  @Test func `behind a listed proxy the clients that it names have shares`() async throws {
    var configuration = Self.unhurried
    configuration.maxConnectionsPerAddress = 2
    configuration.isProxy = { $0 == "127.0.0.2" }
    configuration.clientBehindProxy = { _, headers in headers.first { $0.name == "X-Client" }?.value }
    let gate = Gate()
    var origins: [RequestOrigin] = []
    let handler: HTTPServer.Handler = { request in
      origins.append(request.origin)
      guard request.path == ["held"] else { return .text(200, "here") }
      await gate.pass()
      return .text(200, "held")
    }
    try await with(configuration, handler: handler) { server, told in
      func ask(_ path: String, _ client: String) -> String {
        "GET \(path) HTTP/1.1\r\nHost: a\r\nX-Client: \(client)\r\n\r\n"
      }
      let connections = try (0..<4).map { _ in try RawConnection(port: server.port, from: "127.0.0.2") }
      for connection in connections.prefix(2) { connection.put(Array(ask("/held", "192.0.2.1").utf8)) }
      try await gate.holds(2)
      #expect(try await connections[2].status(of: ask("/x", "192.0.2.1")) == 429)
      #expect(try await connections[3].status(of: ask("/x", "192.0.2.2")) == 200)
      #expect(told.cuts == [.addressShare])
      gate.open()
      for connection in connections.prefix(2) { #expect(try await connection.status(of: "") == 200) }
      #expect(try await connections[0].status(of: ask("/x", "192.0.2.1")) == 200)
      #expect(origins.map(\.client) == ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.1"])
      #expect(origins.allSatisfy { $0.isProxied && $0.peer == "127.0.0.2" })
      for connection in connections { connection.close() }
    }
  }

  // MARK: Room

  /// A server with room for 800,000 bytes, in which `X-Key` names the publisher, and `X-Backend` its backend.
  private static var roomy: HTTPServer.Configuration {
    var configuration = unhurried
    configuration.maxLargeBodyMemory = [.callers: 800_000]
    configuration.largeBody = { _ in .init(maxBytes: 1 << 20, in: .callers) }
    configuration.admitHead = { head in
      head.header("X-Key").map {
        .admitted(.init(publisher: $0, credential: head.header("X-Backend") == nil ? .app : .backend))
      } ?? .admitted(nil)
    }
    return configuration
  }

  /// Sends a whole large body, and returns the status of its answer.
  private func post(
    _ bytes: Int, _ fields: String, from address: String, to server: HTTPServer
  ) async throws -> Int? {
    let connection = try RawConnection(port: server.port, from: address)
    defer { connection.close() }
    connection.put(Self.half(bytes, bytes, fields: fields))
    return try await connection.status(of: "")
  }

  @Test func `whoever holds most of the room gives it to others`() async throws {
    try await with(Self.roomy) { server, told in
      let greedy = try RawConnection(port: server.port)
      greedy.put(Self.half(1_000_000, 500_000))
      try await eventually("the room is held") { server.heldBytes(in: .callers) >= 500_000 }
      let modest = try RawConnection(port: server.port, from: "127.0.0.2")
      modest.put(Self.half(400_000, 400_000))
      #expect(try await modest.status(of: "") == 200)
      #expect(try await greedy.status(of: "") == 503)
      try await greedy.end()
      #expect(told.cuts == [.room])
      try await eventually("the room is free") { server.heldBytes(in: .callers) == 0 }
      for connection in [greedy, modest] { connection.close() }
    }
  }

  @Test func `the room counts the memory that bodies have, and not their bytes`() async throws {
    // A chunked body could be of any length, so its array has more than it needs yet.
    try await with(Self.roomy) { server, _ in
      let chunked = try RawConnection(port: server.port)
      let chunk = "40000\r\n" + String(repeating: "a", count: 0x30000)
      chunked.put(Array("POST /large HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)".utf8))
      try await eventually("it is held") { server.heldBytes(in: .callers) > 0x30000 }
      #expect(server.heldBytes(in: .callers) < 2 * 0x30000)
      chunked.close()
    }
    // The length of this one is known, so its array has no more than that, but for the allocator's rounding.
    try await with(Self.roomy) { server, _ in
      let known = try RawConnection(port: server.port)
      known.put(Self.half(200_001, 200_000))
      try await eventually("it is held") { server.heldBytes(in: .callers) >= 200_000 }
      #expect(server.heldBytes(in: .callers) <= 200_001 * 5 / 4)
      known.close()
    }
  }

  @Test(arguments: ["/large?%zz", "/la%zzrge"])
  func `a malformed path or query gets no room`(_ target: String) async throws {
    try await with(Self.roomy) { server, _ in
      let connection = try RawConnection(port: server.port)
      let body = [UInt8](repeating: 97, count: 200_000)
      let head = "POST \(target) HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n"
      connection.put(Array(head.utf8) + body.dropLast())
      // Its answer comes behind the next request's only if all of it was read.
      let other = try RawConnection(port: server.port)
      #expect(try await other.status(of: Self.question) == 200)
      #expect(server.heldBytes(in: .callers) == 0)
      connection.put([97] + Array(Self.question.utf8))
      #expect(try await connection.status(of: "") == 400)
      #expect(server.heldBytes(in: .callers) == 0)
      #expect(try await connection.status(of: "") == 200)
      for one in [connection, other] { one.close() }
    }
  }

  /// The client still sends: if the server closed with bytes unread, the system would take the answer back.
  @Test(arguments: ["Transfer-Encoding: gzip\r\n", "Content-Length: 900000\r\nTransfer-Encoding: chunked\r\n"])
  func `a body whose end is not clear is answered before it, and the answer arrives`(_ framing: String) async throws {
    try await with(Self.roomy) { server, told in
      let connection = try RawConnection(port: server.port)
      connection.put(Array("POST /large HTTP/1.1\r\nHost: a\r\n\(framing)\r\n".utf8))
      connection.put([UInt8](repeating: 97, count: 500_000))
      let status = try #require(try await connection.status(of: ""))
      #expect(status == 400 || status == 501)
      #expect(told.bodies == [.framing])
      connection.close()
    }
  }

  @Test func `one publisher's apps and one address have their shares of the room`() async throws {
    var configuration = Self.roomy
    configuration.largeBodyShares.ofPublisher = 0.5
    configuration.largeBodyShares.ofAddress = 0.4
    try await with(configuration) { server, told in
      let first = try RawConnection(port: server.port, from: "127.0.0.2")
      first.put(Self.half(100_000, 99_999, fields: "X-Key: one\r\n"))
      try await eventually("the room is held") { server.heldBytes(in: .callers) >= 99_999 }
      // Both need more than the first one has: of its address' share, and of its publisher's.
      #expect(try await post(250_000, "X-Key: two\r\n", from: "127.0.0.2", to: server) == 503)
      #expect(try await post(220_000, "X-Key: one\r\n", from: "127.0.0.3", to: server) == 503)
      #expect(told.bodies == [.addressShare, .publisherShare])
      // The backend has the rest of its publisher's share, also at the address of an app.
      #expect(try await post(100_000, "X-Key: one\r\nX-Backend: 1\r\n", from: "127.0.0.2", to: server) == 200)
      #expect(try await post(250_000, "X-Key: two\r\n", from: "127.0.0.3", to: server) == 200)
      #expect(told.bodies.count == 2 && told.cuts.isEmpty)
      first.close()
      try await eventually("the room is free") { server.heldBytes(in: .callers) == 0 }
    }
  }

  @Test func `many addresses with an app's key hold its share, and others' bodies are still taken`() async throws {
    var configuration = Self.roomy
    configuration.largeBodyShares.ofPublisher = 0.5
    configuration.largeBodyShares.ofAddress = 0.25
    try await with(configuration) { server, told in
      var strangers: [RawConnection] = []
      for number in 1...20 {
        let connection = try RawConnection(port: server.port, from: "127.0.1.\(number)")
        connection.put(Self.half(100_000, 40_000, fields: "X-Key: one\r\n"))
        strangers.append(connection)
      }
      try await eventually("they hold what they can") { told.bodies.contains(.publisherShare) }
      for (fields, bytes) in [
        // The backend, another publisher's app, and the same app, as the strangers have one body of 40,000 bytes each.
        ("X-Key: one\r\nX-Backend: 1\r\n", 90_000), ("X-Key: two\r\n", 100_000), ("X-Key: one\r\n", 20_000),
      ] { #expect(try await post(bytes, fields, from: "127.0.0.9", to: server) == 200, "\(fields)") }
      for connection in strangers { connection.close() }
      try await eventually("the room is free") { server.heldBytes(in: .callers) == 0 }
    }
  }

  /// The end of the connection arrives together with the bytes before it.
  @Test(arguments: ["Content-Length: 100000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n40000\r\n"])
  func `a client that is gone in the middle of its body gives its room and place back`(_ framing: String) async throws {
    try await with(Self.roomy) { server, told in
      for size in [0, 1, 5_000, 30_000, 70_000] {
        for _ in 0..<4 {
          let bytes = "POST /large HTTP/1.1\r\nHost: a\r\n\(framing)" + String(repeating: "a", count: size)
          try RawConnection.leave(Array(bytes.utf8), at: server.port)
        }
      }
      try RawConnection.leave(Self.halfHead, at: server.port)
      let other = try RawConnection(port: server.port)
      #expect(try await other.status(of: Self.question) == 200)
      other.close()
      try await eventually("all are gone") { server.heldBytes(in: .callers) == 0 && server.openConnections == 0 }
      #expect(told.cuts.isEmpty)
    }
  }
}
