public import Configuration
public import EventLoop
import HTTPServer

/// The HTTP server of a role without an API. It listens before the role's other services start, and closes after them.
@LoopActor
public final class HealthServer: RoleService {
  private let endpoints: HealthEndpoints
  private let address: ListenAddress
  private let context: RoleContext
  private var phase = ServicePhase.new
  private var server: HTTPServer?

  /// Creates a server that does not listen yet.
  ///
  /// - Parameter checks: the lines of `/readyz`, in their order.
  public init(_ context: RoleContext, at address: ListenAddress, checks: [ReadinessCheck]) {
    (self.context, self.address) = (context, address)
    endpoints = HealthEndpoints(metrics: context.metrics, checks: checks)
  }

  /// Listens.
  ///
  /// - Throws: `ListenError`.
  public func start() throws { if phase.start() { server = try endpoints.serve(at: address, context) } }

  /// Does nothing: a monitor sees the role until its end.
  public func close() {}

  public func stop(within grace: Duration) async { if phase.stop() { await server?.close() } }
}
