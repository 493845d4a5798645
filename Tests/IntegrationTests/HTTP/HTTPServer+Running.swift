import EventLoop
import Fleets
import HTTPServer

extension HTTPServer {
  /// Runs a body with a server, and closes the server.
  static func running(
    _ configuration: Configuration = .unlimited,
    refuseBody: @escaping @LoopActor (Substring, BodyRefusal) -> HTTPServerResponse = HTTPServer.refusal(of:_:),
    handler: @escaping Handler = { _ in .text(200, "here") }, _ body: @LoopActor (HTTPServer) async throws -> Void
  ) async throws {
    let server = try HTTPServer(configuration, refuseBody: refuseBody, handler: handler)
    do {
      try await body(server)
    } catch {
      await server.close()
      throw error
    }
    await server.close()
  }
}
