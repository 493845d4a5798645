import Configuration
import EventLoop
import HTTPServer
import Observability
import Service

/// The HTTP server of the console.
@LoopActor
final class ConsoleServer: RoleService {
  private let context: RoleContext
  private let api: ConsoleAPI
  private let unlistedProxies: UnlistedProxies
  private var phase = ServicePhase.new
  private var server: HTTPServer?

  /// The longest note, if each of its characters takes twelve bytes in a form, and its form.
  nonisolated static let mostBodyBytes = 32 << 10

  init(_ context: RoleContext, _ api: ConsoleAPI) {
    (self.context, self.api) = (context, api)
    unlistedProxies = UnlistedProxies(context.metrics, context.log, setting: ConsoleSettings.trustedProxiesKey)
  }

  /// Listens.
  ///
  /// - Throws: `ListenError`.
  func start() throws {
    guard phase.start() else { return }
    // An unlisted proxy brings all people from one address. No page takes a large body.
    var configuration = HTTPServer.Configuration(
      maxConnectionsPerAddress: 256, largeBodyShares: HTTPServer.LargeBody.Shares(ofPublisher: 1, ofAddress: 1))
    let listen = context.settings.console.listen
    configuration.host = listen.host
    configuration.port = listen.port
    configuration.maxConnections = 512
    configuration.maxBodyBytes = Self.mostBodyBytes
    configuration.trust(context.settings.console.trustedProxies)
    context.serverMetrics.observe(&configuration)
    let server = try HTTPServer(configuration) { [api, unlistedProxies] in
      unlistedProxies.look(at: $0)
      return await api.answer($0)
    }
    self.server = server
    context.serverMetrics.server = server
    context.log.info("listening", ["address": .string("\(listen.host):\(server.port)")])
  }

  /// Does nothing: the server takes no more connections when it is its turn to stop, which comes first.
  func close() {}

  func stop(within grace: Duration) async { if phase.stop() { await server?.close(grace: grace) } }
}
