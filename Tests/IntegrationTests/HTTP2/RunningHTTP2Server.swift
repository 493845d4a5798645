import Crypto
import EventLoop
import Fleets
import FoundationEssentials
import HTTP
import HTTP2
import HTTP2Server
import HTTPClient
import TestSupport

/// The clients that speak HTTP/2.
enum HTTP2ClientKind: CaseIterable {
  case libcurl, nghttp2
}

/// The methods of both clients.
@LoopActor
protocol SendsRequests {
  func send(_ request: HTTPClientRequest) async throws(HTTPClientError) -> HTTPClientResponse
  func close()
}

extension HTTPClient: SendsRequests {}
extension HTTP2Client: SendsRequests {}

/// A server on a free port with some odd paths, and a client that trusts it.
@LoopActor
final class RunningHTTP2Server {
  private let server: HTTP2Server
  private let client: any SendsRequests
  /// The folder of its certificate and key, and of the authority's certificate.
  let folder: String
  private let gate = Gate()
  private let started = Mailbox<Void>(of: "requests for /never")
  private let cancelled = Mailbox<Void>(of: "cancelled requests for /never")

  private init(folder: String, _ kind: HTTP2ClientKind, streams: Int) async throws {
    self.folder = folder
    let authority = try CertificateAuthority.root(commonName: "Test CA", curve: .p256)
    let key = try IssuingKey.generate(.p256)
    let profile = CertificateProfile(commonName: "Test", use: .tlsServer(names: ["localhost", "127.0.0.1"]))
    let certificate = try authority.issue(profile, for: key).pem
    let tls = try TLSServerContext(certificateChain: certificate, privateKey: key.pem)
    try Data(certificate.utf8).write(to: URL(filePath: "\(folder)/server.pem"))
    try Data(key.pem.utf8).write(to: URL(filePath: "\(folder)/server.key"))
    try Data(authority.certificate.pem.utf8).write(to: URL(filePath: "\(folder)/ca.pem"))

    var serverConfiguration = HTTP2Server.Configuration(tls: tls)
    serverConfiguration.maxConcurrentStreams = streams
    server = HTTP2Server(serverConfiguration) { [gate, started, cancelled] request in
      if request.path == "/held" { await gate.pass() }
      guard request.path != "/never" else {
        started.put(())
        try? await EventLoop.sleep(for: .seconds(3600))
        cancelled.put(())
        return HTTP2Response(status: 500)
      }
      return Self.answer(request)
    }
    try await server.start()
    var configuration = HTTPClientConfiguration.patient
    configuration.caFile = "\(folder)/ca.pem"
    client =
      kind == .libcurl ? HTTPClient(configuration) : HTTP2Client(configuration, fallback: HTTPClient(configuration))
  }

  private static let large = Array(repeating: UInt8(7), count: 3_000_000)

  private static func answer(_ request: HTTP2Request) -> HTTP2Response {
    if request.path.hasPrefix("/size/") {
      return HTTP2Response(
        status: 200, body: Array(repeating: 7, count: Int(request.path.dropFirst(6)) ?? 0))
    }
    return switch request.path {
    case "/many-fields":
      HTTP2Response(
        status: 200,
        headers: (0..<300).map { ("x-field-\($0)", String(repeating: "a", count: 100)) })
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

  static func with(
    _ kind: HTTP2ClientKind, streams: Int = 1000, _ body: @LoopActor (RunningHTTP2Server) async throws -> Void
  ) async throws {
    let folder = try RunningSimulator.temporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let running = try await RunningHTTP2Server(folder: folder, kind, streams: streams)
    defer {
      running.client.close()
      running.close()
    }
    try await body(running)
  }

  var connectionCount: Int { server.connectionCount }

  func send(_ method: String, _ path: String, body: [UInt8]? = nil) async throws -> HTTPClientResponse {
    try await client.send(
      HTTPClientRequest(
        method, "https://localhost:\(port)\(path)", body: body, timeout: .seconds(120), maxResponseBytes: 16 << 20))
  }

  /// The port is stored, because a closed server has none.
  private(set) lazy var port = server.boundPort

  /// A request that a test may change and send with another client.
  func request(_ method: String, _ path: String, through proxy: FaultProxy? = nil) -> HTTPClientRequest {
    HTTPClientRequest(method, "https://localhost:\(proxy?.port ?? port)\(path)", timeout: .seconds(120))
  }

  /// Another client that trusts the server.
  func client(connections: Int) -> HTTP2Client {
    var configuration = HTTPClientConfiguration.patient
    configuration.caFile = "\(folder)/ca.pem"
    configuration.maxConnectionsPerHost = connections
    return HTTP2Client(configuration, fallback: HTTPClient(configuration))
  }

  /// The number of requests for `/held` that wait.
  var held: Int { gate.held }

  /// Answers the requests for `/held`.
  func letGo() { gate.open() }

  func handlerStarted() async throws { try await started.wait(for: 1) }

  func handlerCancelled() async throws { try await cancelled.wait(for: 1) }

  func close() { server.close() }
}
