import EventLoop
import Fleets
import HTTPServer
import TestSupport
import Testing

/// Clients that ask for large answers and do not read them: what they hold of a server, and who gives way.
@Suite(.timeLimit(.minutes(15)))
@LoopActor
struct HTTPServerReaderTests {
  /// What the server has told of the connections that it cut and the answers that it did not send.
  private final class Told {
    var cuts: [HTTPServer.CutCause] = []
    var bodies: [HTTPServer.BodyRefusalCause] = []
  }

  /// More than the system buffers of an answer that nobody reads.
  private static let large = 8 << 20
  private static let ask = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n"

  /// A server with room for so many large answers. `/16384` is answered with so many bytes.
  private func with(
    roomFor answers: Int, ofAddress: Double = 1, _ change: (inout HTTPServer.Configuration) -> Void = { _ in },
    _ body: @LoopActor (HTTPServer, Told) async throws -> Void
  ) async throws {
    let told = Told()
    var configuration = HTTPServer.Configuration.unlimited
    configuration.idleTimeout = .seconds(3600)
    configuration.placeGrace = .seconds(3600)
    configuration.maxUnreadAnswerMemory = answers * Self.large
    configuration.largeBodyShares.ofAddress = ofAddress
    configuration.onCut = { told.cuts.append($0) }
    configuration.onBodyRefused = { told.bodies.append($0) }
    change(&configuration)
    let handler: HTTPServer.Handler = { request in
      let size = request.path.first.flatMap { Int($0) } ?? Self.large
      return HTTPServerResponse(status: 200, body: [UInt8](repeating: 97, count: size))
    }
    try await HTTPServer.running(configuration, handler: handler) { try await body($0, told) }
  }

  private func deaf(_ count: Int, from source: String, at server: HTTPServer, _ ask: String = ask) throws
    -> [DeafClient]
  {
    try (0..<count).map { _ in try DeafClient(asking: ask, port: server.port, from: source) }
  }

  /// Asks for an answer, and reads it.
  private func size(
    _ ask: String = ask, from source: String, at server: HTTPServer
  ) async throws -> (status: Int, bytes: Int)? {
    let connection = try RawConnection(port: server.port, from: source)
    defer { connection.close() }
    connection.put(Array(ask.utf8))
    return try await connection.answer().map { ($0.status, $0.body.utf8.count) }
  }

  private func holds(_ answers: Int, _ server: HTTPServer) async throws {
    try await eventually("\(answers) answers are unread") { server.unreadAnswerBytes == answers * Self.large }
  }

  @Test func `whoever has most unread answers loses one to another client`() async throws {
    try await with(roomFor: 2) { server, told in
      let greedy = try deaf(2, from: "127.0.0.2", at: server)
      try await holds(2, server)
      let answer = try #require(try await size(from: "127.0.0.3", at: server))
      #expect(answer == (200, Self.large))
      #expect(told.cuts == [.answerRoom] && told.bodies.isEmpty)
      // The other one is still there.
      try await holds(1, server)
      for client in greedy { client.close() }
      try await holds(0, server)
    }
  }

  @Test func `an answer without room is a small 503, and small answers always go out`() async throws {
    try await with(roomFor: 1) { server, told in
      let greedy = try deaf(1, from: "127.0.0.2", at: server)
      try await holds(1, server)
      let connection = try RawConnection(port: server.port, from: "127.0.0.2")
      connection.put(Array(Self.ask.utf8))
      let refusal = try #require(try await connection.answer())
      #expect(refusal.status == 503 && refusal.body.isEmpty)
      #expect(told.bodies == [.unread] && told.cuts.isEmpty)
      let small = try #require(try await size("GET /16384 HTTP/1.1\r\nHost: a\r\n\r\n", from: "127.0.0.2", at: server))
      #expect(small == (200, 16_384))
      let larger = try #require(try await size("GET /16385 HTTP/1.1\r\nHost: a\r\n\r\n", from: "127.0.0.2", at: server))
      #expect(larger == (503, 0))
      // The connection goes on, and gets its answer when the other one is gone.
      for client in greedy { client.close() }
      try await holds(0, server)
      #expect(try await connection.status(of: Self.ask) == 200)
      try await holds(0, server)
      connection.close()
    }
  }

  @Test func `one address has its share of the room, and others the rest`() async throws {
    try await with(roomFor: 4, ofAddress: 0.5) { server, told in
      let greedy = try deaf(2, from: "127.0.0.2", at: server)
      try await holds(2, server)
      let own = try #require(try await size(from: "127.0.0.2", at: server))
      #expect(own == (503, 0))
      let other = try #require(try await size(from: "127.0.0.3", at: server))
      #expect(other == (200, Self.large))
      #expect(told.bodies == [.unread] && told.cuts.isEmpty)
      for client in greedy { client.close() }
    }
  }

  @Test func `an answer that is larger than an address' share goes to whoever has no other`() async throws {
    try await with(roomFor: 4, ofAddress: 0.5) { server, told in
      let size = 3 * Self.large
      let ask = "GET /\(size) HTTP/1.1\r\nHost: a\r\n\r\n"
      let huge = try #require(try await self.size(ask, from: "127.0.0.2", at: server))
      #expect(huge == (200, size))
      try await holds(0, server)
      let greedy = try deaf(1, from: "127.0.0.2", at: server)
      try await holds(1, server)
      let refused = try #require(try await self.size(ask, from: "127.0.0.2", at: server))
      #expect(refused == (503, 0))
      #expect(told.bodies == [.unread] && told.cuts.isEmpty)
      for client in greedy { client.close() }
    }
  }

  @Test func `behind a listed proxy the share is that of the client whom it names`() async throws {
    func ask(_ client: Int) -> String { "GET /large HTTP/1.1\r\nHost: a\r\nX-Client: 192.0.2.\(client)\r\n\r\n" }
    let proxied: (inout HTTPServer.Configuration) -> Void = { configuration in
      configuration.isProxy = { $0 == "127.0.0.2" }
      configuration.clientBehindProxy = { _, headers in headers.first { $0.name == "X-Client" }?.value }
    }
    try await with(roomFor: 4, ofAddress: 0.5, proxied) { server, told in
      let greedy = try deaf(2, from: "127.0.0.2", at: server, ask(1))
      try await holds(2, server)
      let own = try #require(try await size(ask(1), from: "127.0.0.2", at: server))
      #expect(own == (503, 0))
      let other = try #require(try await size(ask(2), from: "127.0.0.2", at: server))
      #expect(other == (200, Self.large))
      #expect(told.bodies == [.unread])
      for client in greedy { client.close() }
    }
  }

  @Test func `a slow reader that is cut gives its room back`() async throws {
    let hurried: (inout HTTPServer.Configuration) -> Void = { configuration in
      configuration.idleTimeout = .milliseconds(200)
      configuration.minBodyRate = 1 << 30
    }
    try await with(roomFor: 1, hurried) { server, told in
      let client = try deaf(1, from: "127.0.0.2", at: server)
      try await eventually("it is cut") { told.cuts == [.slowReader] }
      #expect(server.unreadAnswerBytes == 0)
      for client in client { client.close() }
    }
  }
}
