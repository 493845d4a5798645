import EventLoop
import HTTP
import HTTP2Server
import Testing

/// The server of the simulator with both clients: faults on demand, limits, large bodies in both directions.
@Suite(.timeLimit(.minutes(15)))
struct HTTP2ServerTests {
  @Test(arguments: HTTP2ClientKind.allCases) @LoopActor
  func echoesLargeBodies(client: HTTP2ClientKind) async throws {
    try await RunningHTTP2Server.with(client) { server async throws in
      let body = (0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let answer = try await server.send("POST", "/echo?x=1", body: body)
      #expect(answer.status == 200)
      #expect(answer.header("x-seen") == "POST /echo?x=1")
      #expect(answer.header("content-length") == "900000")
      #expect(answer.body == body)
    }
  }

  /// Several answers come on one connection in pieces that the server chooses; no answer waits for another.
  ///
  /// With hundreds of answers of this size, libcurl 7.88 sometimes forgets one until the server gives up the
  /// connection (decision 0016).
  @Test @LoopActor
  func sendsManyAnswersOfAllSizesAtOnce() async throws {
    try await RunningHTTP2Server.with(.nghttp2) { server async throws in
      let calls = (0..<600).map { number in
        Task { @LoopActor in try await server.send("GET", "/size/\(500 + number * 997 % 70_000)").body.count }
      }
      for (number, call) in calls.enumerated() {
        let count = try await call.value
        #expect(count == 500 + number * 997 % 70_000)
      }
    }
  }

  @Test(arguments: HTTP2ClientKind.allCases) @LoopActor
  func refusesTooLargeBodies(client: HTTP2ClientKind) async throws {
    try await RunningHTTP2Server.with(client) { server async throws in
      #expect(try await server.send("POST", "/echo", body: Array(repeating: 1, count: 1_100_000)).status == 413)
      #expect(try await server.send("GET", "/echo").status == 200)
    }
  }

  @Test(arguments: HTTP2ClientKind.allCases) @LoopActor
  func largeAnswersShareAConnection(client: HTTP2ClientKind) async throws {
    try await RunningHTTP2Server.with(client) { server async throws in
      for _ in 1...3 { #expect(try await server.send("GET", "/large").body.count == 3_000_000) }
      #expect(server.connectionCount == 1)
    }
  }

  @Test(
    arguments: HTTP2ClientKind.allCases,
    ["/reset-stream", "/reset-stream-late", "/reset-connection", "/reset-connection-late"])
  @LoopActor
  func breaksOffOnOrder(client: HTTP2ClientKind, path: String) async throws {
    try await RunningHTTP2Server.with(client) { server async throws in
      let error = await #expect(throws: HTTPClientError.self) { try await server.send("GET", path) }
      #expect(error?.code == .interrupted)
      #expect(try await server.send("GET", "/echo").status == 200)
    }
  }

  @Test(arguments: HTTP2ClientKind.allCases) @LoopActor
  func closingEndsConnectionsAndCalls(client: HTTP2ClientKind) async throws {
    try await RunningHTTP2Server.with(client) { server async throws in
      let call = Task { @LoopActor in try await server.send("GET", "/never") }
      try await server.handlerStarted()
      server.close()
      try await server.handlerCancelled()
      #expect(server.connectionCount == 0)
      await #expect(throws: HTTPClientError.self) { try await call.value }
      await #expect(throws: HTTPClientError.self) { try await server.send("GET", "/echo") }
    }
  }
}
