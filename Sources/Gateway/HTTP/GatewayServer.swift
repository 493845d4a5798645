import Configuration
import Domain
import EventLoop
import HTTPServer
import Observability
import Service

/// The HTTP server of a gateway.
@LoopActor
final class GatewayServer: RoleService {
  private let parts: GatewayParts
  private let api: GatewayAPI
  private var phase = ServicePhase.new
  private var server: HTTPServer?

  init(_ parts: GatewayParts, _ api: GatewayAPI) { (self.parts, self.api) = (parts, api) }

  /// Listens.
  ///
  /// - Throws: `ListenError`.
  func start() throws {
    guard phase.start() else { return }
    let (context, settings, routes) = (parts.context, parts.context.settings.gateway, parts.routes)
    let (metrics, notifications) = (parts.metrics, parts.notifications)
    let (authentication, unlistedProxies) = (api.authentication, parts.unlistedProxies)
    var configuration = settings.serverConfiguration(
      routes,
      asking: GatewaySettings.HeadQuestions(
        authenticator: { authentication.authenticator },
        refusalOfNotification: { notifications.refusal(of: $0) },
        onRefusedHead: { unlistedProxies.look(at: $0) },
        onRefused: { refusal, found in metrics.count(refusal, by: found.door.id, found.label) }))
    context.serverMetrics.observe(&configuration)
    let server = try HTTPServer(
      configuration,
      refuseBody: { path, reason in
        switch routes.largeBody(ofRaw: path) {
        case .receipt(let found):
          let refusal = found.door.refusal(of: reason, limit: settings.doors.maxBodyBytes)
          metrics.count(refusal, by: found.door.id, found.label)
          return CrossOrigin.admitted(refusal)
        case .notification: return notifications.refusal(of: reason).response
        case .importPart: return ImportAPI.refusal(of: reason).response
        // The other bodies of our own API are never large, so there is always room.
        case nil: return Problem.tooLarge(settings.maxBodyBytes).response
        }
      }, handler: { [api] in await api.answer($0) })
    self.server = server
    context.serverMetrics.server = server
    context.log.info("listening", ["address": .string("\(settings.listen.host):\(server.port)")])
  }

  /// Does nothing: the server takes no more connections when it is its turn to stop, which comes first.
  func close() {}

  /// Takes no more connections, and lets the running requests finish. Those that would not end in time were closed
  /// before: what waits for events, and exports.
  func stop(within grace: Duration) async {
    guard phase.stop() else { return }
    await server?.close(grace: grace)
  }
}
