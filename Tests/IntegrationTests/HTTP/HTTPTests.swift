import EventLoop
import Fleets
import HTTP
import HTTPClient
import HTTPServer
import Synchronization
import TestSupport
import Testing

/// Client and server against each other, over a real socket.
@Suite(.timeLimit(.minutes(15)))
@LoopActor
struct HTTPTests {
  /// Runs a body with a server and a client.
  private func with(
    _ configuration: HTTPServer.Configuration = .unlimited,
    refuseBody: @escaping @LoopActor (Substring, HTTPServer.BodyRefusal) -> HTTPServerResponse = HTTPServer
      .refusal(of:_:),
    handler: @escaping HTTPServer.Handler, _ body: @LoopActor (HTTPClient, String) async throws -> Void
  ) async throws {
    try await HTTPServer.running(configuration, refuseBody: refuseBody, handler: handler) { server async throws in
      var clientConfiguration = HTTPClientConfiguration.patient
      clientConfiguration.allowsPlainHTTP = true
      clientConfiguration.maxConnectionsPerHost = 20
      let client = HTTPClient(clientConfiguration)
      defer { client.close() }
      try await body(client, "http://127.0.0.1:\(server.port)")
    }
  }

  /// Answers with the parts of the request.
  private static let echo: HTTPServer.Handler = { request in
    HTTPServerResponse(
      status: 207,
      headers: [
        ("X-Method", request.method), ("X-Path", request.path.joined(separator: "|")),
        ("X-Query", request.query.map { "\($0.name)=\($0.value)" }.joined(separator: "|")),
      ]
        + (request.header("x-custom").map { [("X-Custom", $0)] } ?? []),
      body: request.body)
  }

  @Test func `a request and its answer keep every part`() async throws {
    try await with(handler: Self.echo) { client, base in
      let body = (0..<50_000).map { UInt8(truncatingIfNeeded: $0) }
      let answer = try await client.send(
        HTTPClientRequest(
          "PUT", base + "/a%2Fb/c%20d?x=1%262&y=a+b&z&%C3%A4=", headers: [("X-Custom", "ä")], body: body))
      #expect(answer.status == 207)
      #expect(answer.header("x-method") == "PUT")
      #expect(answer.header("X-Path") == "a/b|c d")
      #expect(answer.header("x-query") == "x=1&2|y=a b|z=|ä=")
      #expect(answer.header("x-custom") == "ä")
      #expect(answer.body == body)
    }
  }

  /// The second server gets the client's IPv4 address mapped to IPv6.
  @Test(arguments: ["127.0.0.1", "::"]) func `a request has the address of its client`(host: String) async throws {
    var configuration = HTTPServer.Configuration.unlimited
    configuration.host = host
    let tell: HTTPServer.Handler = { .text(200, $0.origin.client ?? "unknown") }
    try await with(configuration, handler: tell) { client, base in
      for _ in 0..<2 {
        let answer = try await client.send(HTTPClientRequest("GET", base + "/"))
        #expect(String(decoding: answer.body, as: UTF8.self) == "127.0.0.1")
      }
    }
  }

  @Test func `nothing of a request is left for the next one`() async throws {
    try await with(handler: Self.echo) { client, base in
      for round in 0..<3 {
        let first = try await client.send(
          HTTPClientRequest("GET", base + "/one", headers: [("X-Custom", "\(round)")], body: Array("secret".utf8)))
        #expect(first.body == Array("secret".utf8))
        let second = try await client.send(HTTPClientRequest("GET", base + "/two"))
        #expect(second.header("x-method") == "GET")
        #expect(second.header("x-path") == "two")
        #expect(second.header("x-custom") == nil)
        #expect(second.body.isEmpty)
      }
    }
  }

  @Test func `a request that was given up takes no other along`() async throws {
    try await with(handler: Self.echo) { client, base in
      for _ in 0..<20 {
        let given = Task { @LoopActor in
          withUnsafeCurrentTask { $0?.cancel() }
          return try await client.send(HTTPClientRequest("POST", base + "/given-up", body: [1])).status
        }
        let innocent = Task { @LoopActor in
          try await client.send(HTTPClientRequest("POST", base + "/innocent", body: [2])).status
        }
        let error = await #expect(throws: HTTPClientError.self) { try await given.value }
        #expect(error?.code == .cancelled)
        let status = try await innocent.value
        #expect(status == 207)
      }
      #expect(client.inFlight == 0)
    }
  }

  @Test func `header fields without end are refused`() async throws {
    let many: HTTPServer.Handler = { _ in
      HTTPServerResponse(status: 200, headers: (0..<2_000).map { ("X-\($0)", "a") })
    }
    var configuration = HTTPServer.Configuration.unlimited
    configuration.maxHeaderBytes = 1 << 20  // those of its answers come out of the same memory
    try await with(configuration, handler: many) { client, base in
      let error = await #expect(throws: HTTPClientError.self) {
        try await client.send(HTTPClientRequest("GET", base + "/"))
      }
      #expect(error?.code == .responseTooLarge)
      #expect(client.inFlight == 0)
    }
  }

  @Test(arguments: ["GET", "HEAD", "DELETE", "POST"]) func `every method is answered`(method: String) async throws {
    try await with(handler: Self.echo) { client, base in
      let answer = try await client.send(HTTPClientRequest(method, base + "/x", timeout: .seconds(120)))
      #expect(answer.header("x-method") == method)
      #expect(answer.body.isEmpty)
    }
  }

  @Test func `a body over the limit is a 413, told before it is sent when its length is known`() async throws {
    var configuration = HTTPServer.Configuration.unlimited
    configuration.maxBodyBytes = 1000
    try await with(configuration, handler: Self.echo) { client, base in
      let exact = try await client.send(HTTPClientRequest("POST", base, body: Array(repeating: 1, count: 1000)))
      #expect(exact.status == 207)
      let over = try await client.send(HTTPClientRequest("POST", base, body: Array(repeating: 1, count: 1001)))
      #expect(over.status == 413)
    }
  }

  @Test func `a refused head has its answer behind a large body, which nobody keeps`() async throws {
    var configuration = HTTPServer.Configuration.unlimited
    configuration.maxBodyBytes = 1000
    configuration.maxLargeBodyMemory = [.callers: 600_000]
    configuration.largeBody = { $0 == "/large" ? .init(maxBytes: 1 << 20, in: .callers) : nil }
    configuration.admitHead = { $0.header("X-Key") == "good" ? .admitted(nil) : .refused(.text(401, "no")) }
    try await with(configuration, handler: Self.echo) { client, base in
      func post(_ path: String, _ count: Int, key: String, by method: String = "POST") async throws -> Int {
        let request = HTTPClientRequest(
          method, base + path, headers: [("X-Key", key)], body: Array(repeating: 1, count: count),
          timeout: .seconds(120))
        return try await client.send(request).status
      }
      var statuses: [Int] = []
      for (path, count, key) in [
        ("/large", 1_000_000, "bad"), ("/large", 1_000_000, "bad"), ("/large", 500_000, "good"),
        ("/large", 700_000, "good"), ("/large", 500_000, "good"), ("/large", 1_100_000, "good"),
        // Small bodies have no part in that memory.
        ("/small", 1000, "bad"), ("/small", 1001, "good"),
      ] { statuses.append(try await post(path, count, key: key)) }
      #expect(statuses == [401, 401, 207, 503, 207, 413, 207, 413])
      // The head of another method is not checked, so its body is never large.
      #expect(try await post("/large", 1000, key: "bad", by: "PUT") == 207)
      #expect(try await post("/large", 1001, key: "bad", by: "PUT") == 413)
    }
  }

  @Test func `a body that is not taken has its answer from its path, which is asked once`() async throws {
    var configuration = HTTPServer.Configuration.unlimited
    configuration.maxBodyBytes = 1000
    configuration.maxLargeBodyMemory = [.callers: 600_000]
    configuration.largeBody = { $0 == "/large" ? .init(maxBytes: 1 << 20, in: .callers) : nil }
    var asked: [String] = []
    try await with(
      configuration,
      refuseBody: { path, reason in
        asked.append("\(path) \(reason)")
        return .text(reason == .noRoom ? 503 : 413, "no")
      }, handler: Self.echo,
      { client, base in
        var statuses: [Int] = []
        // Many pieces of the first body come after the refusal.
        for (path, count) in [("/large", 1_000_000), ("/large", 500_000), ("/large", 1_100_000), ("/small", 1001)] {
          let request = HTTPClientRequest(
            "POST", base + path, body: Array(repeating: 1, count: count), timeout: .seconds(120))
          statuses.append(try await client.send(request).status)
        }
        #expect(statuses == [503, 207, 413, 413])
        #expect(asked == ["/large noRoom", "/large tooLong", "/small tooLong"])
      })
  }

  @Test func `a body that its handler has forgotten makes room for others`() async throws {
    var configuration = HTTPServer.Configuration.unlimited
    configuration.maxLargeBodyMemory = [.callers: 700_000]
    configuration.largeBody = { _ in .init(maxBytes: 1 << 20, in: .callers) }
    let gate = Gate()
    try await with(
      configuration,
      handler: { request in
        if request.path == ["forgetful"] { request.forgetBody() }
        await gate.pass()
        return .text(200, String(request.body.count))
      },
      { client, base in
        func post(_ path: String, _ count: Int) async throws -> String {
          let body = [UInt8](repeating: 1, count: count)
          let answer = try await client.send(
            HTTPClientRequest("POST", base + path, body: body, timeout: .seconds(120)))
          return "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))"
        }
        let first = Task { @LoopActor in try await post("/forgetful", 500_000) }
        try await gate.holds(1)
        let second = Task { @LoopActor in try await post("/keeping", 500_000) }
        try await gate.holds(2)
        // The second body is still there.
        let third = try await post("/keeping", 500_000)
        gate.open()
        let (forgotten, kept) = (try await first.value, try await second.value)
        // Each body was counted once, and its end too. The allocator may round up by a fifth.
        let (whole, over) = (try await post("/keeping", 580_000), try await post("/keeping", 700_001))
        #expect([forgotten, kept, third] == ["200 0", "200 500000", "503 "])
        #expect([whole, over] == ["200 580000", "503 "])
      })
  }

  @Test func `a malformed escape is a 400`() async throws {
    try await with(handler: Self.echo) { client, base in
      for path in ["/%zz", "/%ff", "/%+1", "/%4", "/?a=%zz", "/?%ff=a"] {
        let answer = try await client.send(HTTPClientRequest("GET", base + path))
        #expect(answer.status == 400)
      }
    }
  }

  @Test func `hundreds of requests that wait at the same time are all answered`() async throws {
    let gate = Gate()
    try await with(
      handler: { request in
        await gate.pass()
        return .text(200, request.path[0])
      },
      { client, base in
        let tasks = (0..<20).map { number in
          Task { @LoopActor in
            try await client.send(HTTPClientRequest("GET", "\(base)/\(number)", timeout: .seconds(120)))
          }
        }
        try await gate.holds(20)
        gate.open()
        for (number, task) in tasks.enumerated() {
          let answer = try await task.value
          #expect(String(decoding: answer.body, as: UTF8.self) == "\(number)")
        }
        for number in 0..<500 {
          let answer = try await client.send(HTTPClientRequest("GET", "\(base)/\(number)", timeout: .seconds(120)))
          #expect(answer.status == 200)
        }
      })
  }

  @Test func `an answer over the client's limit, a late one and none at all are errors by name`() async throws {
    let gate = Gate()
    try await with(
      handler: { request in
        if request.path == ["late"] { await gate.pass() }
        return HTTPServerResponse(status: 200, body: Array(repeating: 1, count: 5000))
      },
      { client, base in
        let large = await #expect(throws: HTTPClientError.self) {
          try await client.send(HTTPClientRequest("GET", base, maxResponseBytes: 4999))
        }
        #expect(large?.code == .responseTooLarge)
        let late = await #expect(throws: HTTPClientError.self) {
          try await client.send(HTTPClientRequest("GET", base + "/late", timeout: .milliseconds(50)))
        }
        #expect(late?.code == .timeout)
        gate.open()
        let nobody = await #expect(throws: HTTPClientError.self) {
          try await client.send(HTTPClientRequest("GET", "http://127.0.0.1:1/secret?token=x"))
        }
        #expect(nobody?.code == .unreachable)
        #expect(nobody?.target == "GET 127.0.0.1:1")
        let scheme = await #expect(throws: HTTPClientError.self) {
          try await client.send(HTTPClientRequest("GET", "file:///etc/passwd"))
        }
        #expect(scheme?.code == .invalidRequest)
      })
  }

  @Test func `a cancelled request ends at once, and the client goes on`() async throws {
    let gate = Gate()
    try await with(
      handler: { request in
        if request.path == ["wait"] { await gate.pass() }
        return .text(200, "")
      },
      { client, base in
        let task = Task { @LoopActor in try await client.send(HTTPClientRequest("GET", base + "/wait")) }
        try await gate.holds(1)
        task.cancel()
        let error = await #expect(throws: HTTPClientError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(client.inFlight == 0)
        gate.open()
        let next = try await client.send(HTTPClientRequest("GET", base + "/x"))
        #expect(next.status == 200)
      })
  }

  @Test func `who waits at the connection limit is served when another has gone`() async throws {
    var configuration = HTTPServer.Configuration.unlimited
    configuration.maxConnections = 2
    // Nobody gives way: on a busy machine a head may take longer than the usual second.
    configuration.placeGrace = .seconds(3600)
    try await with(configuration, handler: Self.echo) { _, base in
      var clients: [HTTPClient] = []
      // Few rounds: each takes some turns of the loop, which all tests share.
      for _ in 0..<12 {
        var own = HTTPClientConfiguration.patient
        own.allowsPlainHTTP = true
        clients.append(HTTPClient(own))
      }
      // Each client keeps its connection until the client closes, so the next ones must wait.
      let waiting = clients.map { client in
        Task { @LoopActor in
          let status = try await client.send(HTTPClientRequest("GET", base + "/x", timeout: .seconds(120))).status
          client.close()
          return status
        }
      }
      for one in waiting {
        let status = try await one.value
        #expect(status == 207)
      }
    }
  }

  @Test func `connections to many hosts that are asked now and then are kept`() async throws {
    var servers: [HTTPServer] = []
    // A slow machine may need longer for a round than a server keeps a connection by default.
    var keeping = HTTPServer.Configuration.unlimited
    keeping.idleTimeout = .seconds(600)
    for _ in 0..<30 { servers.append(try HTTPServer(keeping, handler: Self.echo)) }
    let opened = Atomic(0)
    var configuration = HTTPClientConfiguration.patient
    configuration.allowsPlainHTTP = true
    // The client calls this each time it opens a socket.
    configuration.allowsAddress = { _ in
      opened.add(1, ordering: .relaxed)
      return true
    }
    let client = HTTPClient(configuration)
    for _ in 0..<3 {
      for server in servers {
        #expect(try await client.send(HTTPClientRequest("GET", "http://127.0.0.1:\(server.port)/x")).status == 207)
      }
    }
    #expect(opened.load(ordering: .relaxed) == 30)
    client.close()
    for server in servers { await server.close() }
  }

  @Test func `a port in use is named`() async throws {
    let server = try HTTPServer(.unlimited, handler: Self.echo)
    var taken = HTTPServer.Configuration.unlimited
    taken.port = server.port
    let error = #expect(throws: ListenError.self) { try HTTPServer(taken, handler: Self.echo) }
    #expect(error?.target == "127.0.0.1:\(server.port)")
    await server.close()
  }
}
