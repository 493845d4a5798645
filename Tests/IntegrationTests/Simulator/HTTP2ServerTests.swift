import Crypto
import EventLoop
import FoundationEssentials
import HTTP2Server
import HTTPClient
import TestSupport
import Testing

/// The server under the simulator: faults on order, limits, and large bodies in both directions.
struct HTTP2ServerTests {
  @Test @LoopActor
  func echoesLargeBodies() async throws {
    try await RunningServer.with { server async throws in
      let body = (0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let answer = try await server.send("POST", "/echo?x=1", body: body)
      #expect(answer.status == 200)
      #expect(answer.header("x-seen") == "POST /echo?x=1")
      #expect(answer.header("content-length") == "900000")
      #expect(answer.body == body)
    }
  }

  /// Of several answers that come on one connection in the pieces that the server chooses, none waits for another.
  @Test @LoopActor
  func sendsManyAnswersOfAllSizesAtOnce() async throws {
    try await RunningServer.with { server async throws in
      let calls = (0..<600).map { number in
        Task { @LoopActor in try await server.send("GET", "/size/\(500 + number * 97 % 70_000)").body.count }
      }
      for (number, call) in calls.enumerated() {
        let count = try await call.value
        #expect(count == 500 + number * 97 % 70_000)
      }
    }
  }

  @Test @LoopActor
  func refusesTooLargeBodies() async throws {
    try await RunningServer.with { server async throws in
      #expect(try await server.send("POST", "/echo", body: Array(repeating: 1, count: 1_100_000)).status == 413)
      #expect(try await server.send("GET", "/echo").status == 200)
    }
  }

  @Test @LoopActor
  func aSlowlyReadAnswerArrivesWhole() async throws {
    try await RunningServer.with { server async throws in
      for _ in 1...3 { #expect(try await server.send("GET", "/large").body.count == 3_000_000) }
      #expect(server.connectionCount == 1)
    }
  }

  @Test(arguments: ["/reset-stream", "/reset-stream-late", "/reset-connection", "/reset-connection-late"])
  @LoopActor
  func breaksOffOnOrder(path: String) async throws {
    try await RunningServer.with { server async throws in
      let error = await #expect(throws: HTTPClientError.self) { try await server.send("GET", path) }
      #expect(error?.code == .interrupted)
      #expect(try await server.send("GET", "/echo").status == 200)
    }
  }

  @Test @LoopActor
  func closingEndsConnectionsAndCalls() async throws {
    try await RunningServer.with { server async throws in
      let call = Task { @LoopActor in try await server.send("GET", "/never") }
      await server.handlerStarted()
      server.close()
      await server.handlerCancelled()
      #expect(server.connectionCount == 0)
      await #expect(throws: HTTPClientError.self) { try await call.value }
      await #expect(throws: HTTPClientError.self) { try await server.send("GET", "/echo") }
    }
  }
}

/// A server on a free port with some odd paths, and a client that trusts it.
@LoopActor
private final class RunningServer {
  private let server: HTTP2Server
  private let client: HTTPClient
  private let started: AsyncStream<Void>
  private let cancelled: AsyncStream<Void>

  private init(folder: String) async throws {
    let authority = try CertificateAuthority.root(commonName: "Test CA", curve: .p256)
    let key = try IssuingKey.generate(.p256)
    let profile = CertificateProfile(commonName: "Test", use: .tlsServer(names: ["localhost", "127.0.0.1"]))
    let tls = try TLSServerContext(certificateChain: authority.issue(profile, for: key).pem, privateKey: key.pem)
    try Data(authority.certificate.pem.utf8).write(to: URL(filePath: "\(folder)/ca.pem"))

    let (started, starts) = AsyncStream.makeStream(of: Void.self)
    let (cancelled, cancellations) = AsyncStream.makeStream(of: Void.self)
    (self.started, self.cancelled) = (started, cancelled)
    server = HTTP2Server(HTTP2Server.Configuration(tls: tls)) { request in
      guard request.path != "/never" else {
        starts.yield()
        try? await EventLoop.sleep(for: .seconds(3600))
        cancellations.yield()
        return HTTP2Response(status: 500)
      }
      return Self.answer(request)
    }
    try await server.start()
    var configuration = HTTPClient.Configuration.patient
    configuration.caFile = "\(folder)/ca.pem"
    client = HTTPClient(configuration)
  }

  private static func answer(_ request: HTTP2Request) -> HTTP2Response {
    let large = Array(repeating: UInt8(7), count: 3_000_000)
    if request.path.hasPrefix("/size/") {
      return HTTP2Response(
        status: 200, body: Array(repeating: 7, count: Int(request.path.dropFirst(6)) ?? 0))
    }
    return switch request.path {
    case "/large": HTTP2Response(status: 200, body: large)
    case "/reset-stream": HTTP2Response(status: 200, fault: .resetStream(afterBodyBytes: nil))
    case "/reset-stream-late": HTTP2Response(status: 200, body: large, fault: .resetStream(afterBodyBytes: 5))
    case "/reset-connection": HTTP2Response(status: 200, fault: .resetConnection(afterBodyBytes: nil))
    case "/reset-connection-late":
      HTTP2Response(status: 200, body: large, fault: .resetConnection(afterBodyBytes: 5))
    default:
      HTTP2Response(status: 200, headers: [("X-Seen", "\(request.method) \(request.path)")], body: request.body)
    }
  }

  static func with(_ body: @LoopActor (RunningServer) async throws -> Void) async throws {
    let folder = try RunningSimulator.temporaryFolder()
    let running = try await RunningServer(folder: folder)
    do {
      try await body(running)
    } catch {
      running.close()
      throw error
    }
    running.client.close()
    running.close()
    try FileManager.default.removeItem(atPath: folder)
  }

  var connectionCount: Int { server.connectionCount }

  func send(_ method: String, _ path: String, body: [UInt8]? = nil) async throws -> HTTPClientResponse {
    try await client.send(
      HTTPClientRequest(
        method, "https://localhost:\(port)\(path)", body: body, timeout: .seconds(120), maxResponseBytes: 16 << 20))
  }

  /// Remembered, because a closed server has none.
  private lazy var port = server.boundPort

  func handlerStarted() async { for await _ in started { return } }

  func handlerCancelled() async { for await _ in cancelled { return } }

  func close() { server.close() }
}
