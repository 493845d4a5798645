import EventLoop
import Fleets
import Foundation
import Glibc
import HTTP
import HTTP2
import HTTP2Server
import HTTPClient
import TestSupport
import Testing

/// The decisions of the client over nghttp2: connections, second attempts, and the requests that it leaves to libcurl.
@Suite(.timeLimit(.minutes(15)))
@LoopActor
struct HTTP2ClientTests {
  @Test func `a hundred requests share a connection before another one is opened`() async throws {
    try await RunningHTTP2Server.with(.nghttp2) { server async throws in
      let client = server.client(connections: 3)
      var calls: [Task<Int, any Error>] = []
      for (requests, connections) in [(100, 1), (150, 2), (500, 3)] {
        while calls.count < requests {
          calls.append(Task { @LoopActor in try await client.send(server.request("GET", "/held")).status })
        }
        try await eventually("\(requests) requests are held") { server.held == requests }
        #expect(client.connectionCount == connections)
        // The client does not wait for a connection that takes over a second to open. On a busy machine some do.
        try await eventually("\(connections) connections are open") { server.connectionCount == connections }
      }
      server.letGo()
      for call in calls { #expect(try await call.value == 200) }
      #expect(client.inFlight == 0)
      client.close()
    }
  }

  @Test func `who waits for a connection that does not open goes to a full one`() async throws {
    try await RunningHTTP2Server.with(.nghttp2) { server async throws in
      let proxy = try FaultProxy(to: server.port)
      defer { proxy.close() }
      let client = server.client(connections: 2)
      defer { client.close() }
      func hold() -> Task<Int, any Error> {
        Task { @LoopActor in try await client.send(server.request("GET", "/held", through: proxy)).status }
      }
      var calls = (0..<100).map { _ in hold() }
      try await eventually("one connection is full") { server.held == 100 }
      proxy.ignoresNew = true
      // No other event would wake the request, and the connection's time limit is longer than this test.
      calls.append(hold())
      try await eventually("one more is held") { server.held == 101 }
      #expect(client.connectionCount == 2)
      #expect(server.connectionCount == 1)
      server.letGo()
      for call in calls { #expect(try await call.value == 200) }
    }
  }

  @Test func `a server that takes few requests at a time gets more connections, up to the limit`() async throws {
    try await RunningHTTP2Server.with(.nghttp2, streams: 7) { server async throws in
      let client = server.client(connections: 3)
      // The client learns the limit from the first connection.
      #expect(try await client.send(server.request("GET", "/echo")).status == 200)
      let calls = (0..<50).map { _ in
        Task { @LoopActor in try await client.send(server.request("GET", "/held")).status }
      }
      try await eventually("three connections are full") { server.held == 21 }
      #expect(client.connectionCount == 3)
      server.letGo()
      for call in calls { #expect(try await call.value == 200) }
      client.close()
    }
  }

  @Test(arguments: [("GET", true), ("POST", false)])
  func `a request that a dead connection took is sent again if that does no harm`(method: String, again: Bool)
    async throws
  {
    try await RunningHTTP2Server.with(.nghttp2) { server async throws in
      let proxy = try FaultProxy(to: server.port)
      defer { proxy.close() }
      let client = server.client(connections: 1)
      defer { client.close() }
      #expect(try await client.send(server.request("GET", "/echo", through: proxy)).status == 200)
      proxy.mode = .stalled
      let call = Task { @LoopActor in try await client.send(server.request(method, "/echo", through: proxy)).status }
      try await eventually("the request is on its way") { client.inFlight == 1 }
      proxy.mode = .open
      proxy.cut()
      if again {
        #expect(try await call.value == 200)
      } else {
        let error = await #expect(throws: HTTPClientError.self) { try await call.value }
        #expect(error?.code == .interrupted)
      }
    }
  }

  @Test func `a connection on which nobody answered is not used again`() async throws {
    try await RunningHTTP2Server.with(.nghttp2) { server async throws in
      let proxy = try FaultProxy(to: server.port)
      defer { proxy.close() }
      let client = server.client(connections: 1)
      defer { client.close() }
      #expect(try await client.send(server.request("GET", "/echo", through: proxy)).status == 200)
      proxy.mode = .stalled
      var late = server.request("GET", "/echo", through: proxy)
      // Long enough for the client to send it on a busy machine: a request that still waits to be sent proves nothing
      // about the connection.
      late.timeout = .seconds(2)
      let error = await #expect(throws: HTTPClientError.self) { try await client.send(late) }
      #expect(error?.code == .timeout)
      #expect(error?.cause.contains("2000 ms") == true)
      #expect(client.connectionCount == 0)
      proxy.mode = .open
      #expect(try await client.send(server.request("GET", "/echo", through: proxy)).status == 200)
    }
  }

  @Test func `what waits on a connection that takes no more keeps nobody from another one`() async throws {
    try await RunningHTTP2Server.with(.nghttp2) { server async throws in
      let client = server.client(connections: 1)
      defer { client.close() }
      #expect(try await client.send(server.request("GET", "/echo")).status == 200)
      let held = Task { @LoopActor in try await client.send(server.request("GET", "/held")).status }
      try await eventually("it is held") { server.held == 1 }
      // No answer comes in time, so the client does not use the connection again. But the first request is still on
      // it.
      var late = server.request("GET", "/never")
      late.timeout = .seconds(2)
      let error = await #expect(throws: HTTPClientError.self) { try await client.send(late) }
      #expect(error?.code == .timeout)
      #expect(try await client.send(server.request("GET", "/echo")).status == 200)
      #expect(client.connectionCount == 2)
      server.letGo()
      #expect(try await held.value == 200)
    }
  }

  @Test func `a connection that takes not even the bytes of a request is given up`() async throws {
    try await RunningHTTP2Server.with(.nghttp2) { server async throws in
      let proxy = try FaultProxy(to: server.port)
      defer { proxy.close() }
      let client = server.client(connections: 1)
      defer { client.close() }
      #expect(try await client.send(server.request("GET", "/echo", through: proxy)).status == 200)
      proxy.mode = .stalled
      // This is more than the buffers of a loopback connection hold. It is made once, so that the client sends every
      // request in time.
      let text = String(decoding: [UInt8](repeating: UInt8(ascii: "a"), count: 60_000), as: UTF8.self)
      let calls = (0..<100).map { _ in
        Task { @LoopActor in
          var large = server.request("GET", "/echo", through: proxy)
          large.headers = [("x-large", text)]
          large.timeout = .seconds(5)
          return try await client.send(large).status
        }
      }
      for call in calls {
        let error = await #expect(throws: HTTPClientError.self) { try await call.value }
        #expect(error?.code == .timeout)
      }
      // A busy machine takes so long to send them that the first ones end before the last ones begin. Those ask for
      // another connection, which does not open either, and is given up later.
      try await eventually("it is given up") { client.connectionCount == 0 }
    }
  }

  @Test func `closing answers everybody, also who has asked in the same turn`() async throws {
    try await RunningHTTP2Server.with(.nghttp2) { server async throws in
      let client = server.client(connections: 1)
      #expect(try await client.send(server.request("GET", "/echo")).status == 200)
      let calls = (0..<3).map { _ in
        Task.immediate { @LoopActor in try await client.send(server.request("GET", "/echo")).status }
      }
      #expect(client.inFlight == 3)
      client.close()
      for call in calls {
        let error = await #expect(throws: HTTPClientError.self) { try await call.value }
        #expect(error?.code == .cancelled)
      }
      #expect(client.inFlight == 0)
    }
  }

  @Test func `a request that was given up leaves the others of its connection alone`() async throws {
    try await RunningHTTP2Server.with(.nghttp2) { server async throws in
      let client = server.client(connections: 1)
      defer { client.close() }
      let innocent = Task { @LoopActor in try await client.send(server.request("GET", "/held")).status }
      let given = Task { @LoopActor in try await client.send(server.request("GET", "/never")).status }
      try await server.handlerStarted()
      try await eventually("the other is held") { server.held == 1 }
      given.cancel()
      let error = await #expect(throws: HTTPClientError.self) { try await given.value }
      #expect(error?.code == .cancelled)
      try await server.handlerCancelled()
      server.letGo()
      #expect(try await innocent.value == 200)
    }
  }

  @Test func `too long answers are refused, and only they`() async throws {
    try await RunningHTTP2Server.with(.nghttp2) { server async throws in
      let client = server.client(connections: 1)
      defer { client.close() }
      var short = server.request("GET", "/size/100000")
      short.maxResponseBytes = 99_999
      let error = await #expect(throws: HTTPClientError.self) { try await client.send(short) }
      #expect(error?.code == .responseTooLarge)
      short.maxResponseBytes = 100_000
      #expect(try await client.send(short).body.count == 100_000)
      let many = await #expect(throws: HTTPClientError.self) {
        try await client.send(server.request("GET", "/many-fields"))
      }
      #expect(many?.code == .responseTooLarge)
      #expect(many?.cause.contains("header fields") == true)
      #expect(server.connectionCount == 1)
    }
  }

  @Test func `large requests over a slow network arrive whole, all of them`() async throws {
    try await RunningHTTP2Server.with(.nghttp2) { server async throws in
      let proxy = try FaultProxy(to: server.port)
      defer { proxy.close() }
      proxy.mode = .slow(bytesPerSecond: 4 << 20)
      let client = server.client(connections: 1)
      defer { client.close() }
      let calls = (0..<20).map { number in
        Task { @LoopActor in
          var request = server.request("POST", "/echo", through: proxy)
          request.body = Array(repeating: UInt8(number), count: 100_000)
          return try await client.send(request).body
        }
      }
      for (number, call) in calls.enumerated() {
        #expect(try await call.value == Array(repeating: UInt8(number), count: 100_000))
      }
    }
  }

  @Test func `a server that nobody vouches for is refused`() async throws {
    try await RunningHTTP2Server.with(.nghttp2) { server async throws in
      // The system's authorities did not issue the server's certificate.
      let stranger = HTTP2Client(.patient, fallback: HTTPClient(.patient))
      let unknown = await #expect(throws: HTTPClientError.self) {
        try await stranger.send(server.request("GET", "/echo"))
      }
      #expect(unknown?.code == .tls)
      #expect(unknown?.cause.contains("certificate") == true)
      stranger.close()
      // The server's certificate does not carry this name, although the name leads to the server.
      let client = server.client(connections: 1)
      defer { client.close() }
      let other = HTTPClientRequest("GET", "https://127.1:\(server.port)/echo")
      let misnamed = await #expect(throws: HTTPClientError.self) { try await client.send(other) }
      #expect(misnamed?.code == .tls)
      #expect(misnamed?.cause.contains("mismatch") == true)
    }
  }

  @Test func `a server that is not there is named`() async throws {
    let client = HTTP2Client(.patient, fallback: HTTPClient(.patient))
    defer { client.close() }
    let port = try await freePort()
    let error = await #expect(throws: HTTPClientError.self) {
      try await client.send(HTTPClientRequest("GET", "https://127.0.0.1:\(port)/x"))
    }
    #expect(error?.code == .unreachable)
    #expect(error?.target == "GET 127.0.0.1:\(port)")
    #expect(error?.cause.contains("refused") == true)
  }

  @Test func `a server without HTTP 2 is asked through libcurl`() async throws {
    try await RunningHTTP2Server.with(.nghttp2) { server async throws in
      let stranger = try await HTTP1Stranger(folder: server.folder)
      defer { stranger.stop() }
      let client = server.client(connections: 2)
      defer { client.close() }
      for _ in 1...3 {
        let answer = try await client.send(HTTPClientRequest("GET", "https://localhost:\(stranger.port)/x"))
        #expect(answer.status == 200)
        #expect(answer.body == Array("/x".utf8))
      }
      #expect(client.connectionCount == 0)
    }
  }

  private func freePort() async throws -> Int {
    let listener = try Listener(host: "127.0.0.1", port: 0) { _ in }
    defer { listener.close() }
    return listener.port
  }
}

/// A foreign HTTPS server that speaks HTTP/1.1 only and answers with the path.
@LoopActor
private final class HTTP1Stranger {
  let port: Int
  private let process: ChildProcess

  init(folder: String) async throws {
    let program = """
      import http.server, ssl, sys
      class Handler(http.server.BaseHTTPRequestHandler):
          protocol_version = "HTTP/1.1"
          def do_GET(self):
              self.send_response(200)
              self.send_header("Content-Length", str(len(self.path)))
              self.end_headers()
              self.wfile.write(self.path.encode())
      server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(sys.argv[1] + "/server.pem", sys.argv[1] + "/server.key")
      server.socket = context.wrap_socket(server.socket, server_side=True)
      print("port", server.server_address[1], flush=True)
      server.serve_forever()
      """
    let output = "\(folder)/stranger.log"
    process = try ChildProcess("/usr/bin/env", ["python3", "-c", program, folder], output: output)
    var found: Int?
    do {
      try await eventually("the stranger listens") {
        let lines = (try? String(contentsOfFile: output, encoding: .utf8))?.split(separator: "\n") ?? []
        found = lines.first { $0.hasPrefix("port ") }.flatMap { Int($0.dropFirst(5)) }
        return found != nil
      }
    } catch {
      process.send(SIGKILL)
      throw error
    }
    port = found!
  }

  func stop() { process.send(SIGKILL) }
}
