import EventLoop
import Fleets
import HTTPServer
import Observability
import Service
import Testing

/// Malformed HTTP over raw sockets. Another client gets its answers beside it, and the malformed one gets an answer or
/// is closed.
@Suite(.timeLimit(.minutes(15)))
@LoopActor
struct HTTPServerMalformedTests {
  /// A client's bytes, and the statuses that they may get; 0 stands for a connection that is closed without an answer.
  struct Row: CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let statuses: Set<Int>
    var testDescription: String { name }

    init(_ name: String, _ text: String, _ statuses: Set<Int>) {
      (self.name, bytes, self.statuses) = (name, Array(text.utf8), statuses)
    }

    /// A request with a chunked body.
    static func chunked(_ name: String, _ body: String, _ statuses: Set<Int>, fields: String = "") -> Row {
      Row(name, "POST /x HTTP/1.1\r\nHost: a\r\n\(fields)Transfer-Encoding: chunked\r\n\r\n" + body, statuses)
    }

    static func head(_ name: String, _ fields: String, _ statuses: Set<Int>, body: String = "") -> Row {
      Row(name, "POST /x HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n" + body, statuses)
    }
  }

  private nonisolated static func a(_ count: Int) -> String { String(repeating: "a", count: count) }

  nonisolated static let rows: [Row] =
    [
      // 408 if its last bytes come when libmicrohttpd has already left it alone.
      .chunked("a chunk line without end", "3;" + a(21_000), [400, 408]),
      .chunked(
        "a chunk line without end behind a long head", "3;" + a(6_000), [400, 408], fields: "X: \(a(15_000))\r\n"),
      .chunked("a chunk line without end behind chunks", "3\r\nabc\r\n3;" + a(40_000), [400, 408]),
      .chunked("a chunk of 2^64 bytes less one", "ffffffffffffffff\r\nabc", [408]),
      .chunked("a chunk size beyond 2^64", "1ffffffffffffffff\r\nabc", [400, 413]),
      .chunked("a negative chunk size", "-1\r\nabc", [400]),
      .chunked("a chunk size that is not hexadecimal", "xyz\r\nabc", [400]),
      .chunked("no chunk size", "\r\nabc\r\n", [400]),
      .chunked("a chunk without its end", "3\r\nabcXX0\r\n\r\n", [400]),
      .chunked("an extension", "3;a=b\r\nabc\r\n0\r\n\r\n", [200]),
      .chunked("trailers", "3\r\nabc\r\n0\r\nX: y\r\n\r\n", [200]),
      .chunked("half a chunk", "5\r\nabc", [408]),
      .chunked("half a chunk line", "5;a", [408]),
      .chunked("a trailer without end", "0\r\nX: " + a(40_000), [0, 413, 431]),
      .chunked("half a trailer", "0\r\nX: ", [408]),
      .chunked("trailers without end", "0\r\n" + String(repeating: "A:b\r\n", count: 5_000), [0, 413, 431]),
      .head("a coding that nobody knows", "Transfer-Encoding: gzip", [501], body: "abc"),
      .head("a coding behind another", "Transfer-Encoding: gzip, chunked", [501], body: "0\r\n\r\n"),
      .head("both lengths", "Content-Length: 3\r\nTransfer-Encoding: chunked", [400], body: "0\r\n\r\n"),
      .head("two lengths", "Content-Length: 3\r\nContent-Length: 5", [400], body: "abcde"),
      .head("the same length twice", "Content-Length: 3\r\nContent-Length: 3", [400], body: "abc"),
      .head("leading zeros", "Content-Length: 0003", [200], body: "abc"),
      .head("a body of half its length", "Content-Length: 6", [408], body: "abc"),
      // Their answers do not wait for the bodies, which never come.
      .head("a body a little over the limit", "Content-Length: 65537", [413]),
      .head("a body far over the limit", "Content-Length: 1048577", [413]),
      .head("a NUL in a field", "X: a\0b", [200, 400]),
      .head("too many fields", String(repeating: "A: b\r\n", count: 5_000) + "A: b", [0, 413, 431]),
      Row("half a request line", "GET /x HT", [408]),
      Row("half a head", "GET /x HTTP/1.1\r\nHost: ", [408]),
      Row("a head without end", "GET /x HTTP/1.1\r\nX: " + a(40_000), [0, 413, 431]),
      Row("a path without end", "GET /" + a(40_000), [0, 414]),
      Row("nothing but NULs", String(repeating: "\0", count: 40_000), [0, 400, 414]),
      Row("a NUL in a name", "GET /x HTTP/1.1\r\nHo\0st: a\r\n\r\n", [0, 400]),
      Row("a NUL in the path", "GET /x\0y HTTP/1.1\r\nHost: a\r\n\r\n", [200, 400]),
      Row("bare LF", "GET /x HTTP/1.1\nHost: a\n\n", [200, 400]),
      Row("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [505]),
      Row("no HTTP at all", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}", [408]),
      Row("a pipeline", String(repeating: "GET /x HTTP/1.1\r\nHost: a\r\n\r\n", count: 2_000), [200]),
    ]
    + ["9223372036854775808", "18446744073709551614", "18446744073709551615", "1" + String(repeating: "0", count: 60)]
    .map { .head("a length of \($0.count) digits", "Content-Length: \($0)", [413], body: "abc") }
    + ["+3", "-3", "0x3", "3,3", "3 3", ""]
    .map { .head("the length '\($0)'", "Content-Length: \($0)", [400], body: "abc") }

  /// Runs a body with a server whose deadlines are short, or so long that no test reaches them.
  private func with(
    deadline: Duration = .seconds(30), handler: @escaping HTTPServer.Handler = { _ in .text(200, "here") },
    _ body: @LoopActor (HTTPServer) async throws -> Void
  ) async throws {
    var configuration = HTTPServer.Configuration.unlimited
    configuration.headTimeout = deadline
    configuration.bodyTimeout = deadline
    // libmicrohttpd's own deadline, which once ended what these tests begin, is far away.
    configuration.idleTimeout = .seconds(3600)
    try await HTTPServer.running(configuration, handler: handler, body)
  }

  private static let question = "GET /other HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test func `every row ends, and another client is answered meanwhile`() async throws {
    try await with { server in
      let other = try RawConnection(port: server.port)
      defer { other.close() }
      #expect(try await other.status(of: Self.question) == 200)
      var open: [(row: Row, connection: RawConnection)] = []
      for row in Self.rows {
        let connection = try RawConnection(port: server.port)
        connection.put(row.bytes)
        open.append((row, connection))
        for _ in 0..<3 { #expect(try await other.status(of: Self.question) == 200, "beside \(row.name)") }
      }
      for (row, connection) in open {
        let status = try await connection.status(of: "") ?? 0
        #expect(row.statuses.contains(status), "\(row.name): \(status)")
        if status != 200 { try await connection.end() }
        connection.close()
      }
      #expect(try await other.status(of: Self.question) == 200)
    }
  }

  @Test func `the requests of a pipeline are all answered, in their order`() async throws {
    let echo: HTTPServer.Handler = { .text(200, $0.path.last ?? "") }
    try await with(handler: echo) { server in
      let connection = try RawConnection(port: server.port)
      defer { connection.close() }
      connection.put(Array((0..<500).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined().utf8))
      for number in 0..<500 { #expect(try await connection.answer()?.body == "\(number)") }
    }
  }

  /// At one of these sizes the memory of the connection is full, and nothing waits at its socket.
  @Test func `a chunk line of any size stops nobody, and an honest body is read to its end`() async throws {
    try await with(deadline: .seconds(3600)) { server in
      let other = try RawConnection(port: server.port)
      defer { other.close() }
      #expect(try await other.status(of: Self.question) == 200)
      let head = "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      let honest = try RawConnection(port: server.port)
      defer { honest.close() }
      honest.put(Array((head + "3\r\nab").utf8))
      var stuck: [RawConnection] = []
      for count in stride(from: 20_200, through: 20_360, by: 4) {
        let connection = try RawConnection(port: server.port)
        connection.put(Array((head + "3;" + Self.a(count)).utf8))
        stuck.append(connection)
        #expect(try await other.status(of: Self.question) == 200)
      }
      #expect(try await honest.status(of: "c\r\n0\r\n\r\n") == 200)
      for connection in stuck {
        // The memory of the last one is full now too.
        connection.put(Array(Self.a(1_000).utf8))
        let status = try await connection.status(of: "") ?? 0
        #expect([0, 400].contains(status))
        try await connection.end()
        connection.close()
        #expect(try await other.status(of: Self.question) == 200)
      }
    }
  }

  @Test func `a full connection that is left alone ends with its time`() async throws {
    try await with { server in
      var stuck: [RawConnection] = []
      for count in 20_200...20_360 {
        let connection = try RawConnection(port: server.port)
        let head = "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;"
        connection.put(Array((head + Self.a(count)).utf8))
        stuck.append(connection)
      }
      for connection in stuck {
        #expect([0, 400, 408].contains(try await connection.status(of: "") ?? 0))
        try await connection.end()
        connection.close()
      }
    }
  }

  @Test func `metrics have one path`() async throws {
    let endpoints = HealthEndpoints(metrics: Metrics(), checks: [])
    let answer: HTTPServer.Handler = { endpoints.answer($0) ?? .text(404, "not found") }
    try await with(handler: answer) { server in
      for (target, status) in [
        ("/metrics", 200), ("/metrics?x=1", 200), ("/metrics/", 404), ("//metrics", 404), ("/%6detrics", 404),
        ("/%6Detrics?", 404), ("http://a/metrics", 404), ("/x/../metrics", 404), ("/readyz", 200), ("/readyz/", 404),
      ] {
        let connection = try RawConnection(port: server.port)
        defer { connection.close() }
        #expect(try await connection.status(of: "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n") == status, "\(target)")
      }
    }
  }
}
