public import Configuration
public import EventLoop
public import HTTPServer
public import Observability

/// Answers `/livez`, `/readyz` and `/metrics`, in every role alike.
@LoopActor
public struct HealthEndpoints {
  private let metrics: Metrics
  private let checks: [ReadinessCheck]

  /// The paths as a client must write them.
  public nonisolated static let paths: Set<String> = ["/livez", "/readyz", "/metrics"]

  /// Creates the endpoints. A role is ready when all checks that it needs pass.
  public init(metrics: Metrics, checks: [ReadinessCheck]) {
    self.metrics = metrics
    self.checks = checks
  }

  /// Answers a request for one of the three; `nil` for any other path.
  ///
  /// Only their exact paths count. A proxy that keeps `/metrics` inside must not be passed by with `//metrics`.
  public func answer(_ request: HTTPServerRequest) -> HTTPServerResponse? {
    guard Self.paths.contains(request.rawPath) else { return nil }
    guard request.method == "GET" || request.method == "HEAD" else {
      return HTTPServerResponse(status: 405, headers: [("Allow", "GET, HEAD")])
    }
    switch request.rawPath {
    case "/livez": return .text(200, "ok\n")
    case "/metrics": return .text(200, metrics.text(), type: "text/plain; version=0.0.4; charset=utf-8")
    default:
      let results = checks.map { $0.result() }
      return .text(results.allSatisfy(\.isReady) ? 200 : 503, results.map { $0.line + "\n" }.joined())
    }
  }

  /// Serves the endpoints at an address of their own, for a role without an API.
  ///
  /// - Throws: `ListenError`.
  public func serve(at address: ListenAddress, _ context: RoleContext) throws -> HTTPServer {
    // Only a monitor and an orchestrator ask here, and they send no bodies. So nobody shares room for large ones.
    var configuration = HTTPServer.Configuration(
      maxConnectionsPerAddress: 64, largeBodyShares: HTTPServer.LargeBody.Shares(ofPublisher: 1, ofAddress: 1))
    configuration.host = address.host
    configuration.port = address.port
    configuration.maxConnections = 256
    configuration.maxBodyBytes = 1024
    context.serverMetrics.observe(&configuration)
    let server = try HTTPServer(configuration) { self.answer($0) ?? .text(404, "not found\n") }
    context.serverMetrics.server = server
    context.log.info("listening", ["address": .string("\(address.host):\(server.port)")])
    return server
  }
}
