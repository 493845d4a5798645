import Domain
import EventLoop
import HTTPServer

extension Route {
  /// Imports over HTTP.
  static let imports = [
    importing(.post, "", ImportAPI.create), importing(.get, "", ImportAPI.list),
    importing(.get, "/{importId}", ImportAPI.read), importing(.delete, "/{importId}", ImportAPI.delete),
    importPart,
    importing(.post, "/{importId}/check", ImportAPI.check),
    importing(.post, "/{importId}/start", ImportAPI.start),
    importing(.post, "/{importId}/cancel", ImportAPI.cancel),
    importing(.get, "/{importId}/report", ImportAPI.report),
  ]

  private static let importPart = importing(.post, "/{importId}/file", ImportAPI.append)

  /// Whether a path takes parts of files.
  static func isImportPart(_ segments: [String]) -> Bool { importPart.values(in: segments) != nil }

  private typealias ImportMethod =
    @LoopActor @Sendable (ImportAPI) -> @LoopActor (Call) async throws(Problem) -> HTTPServerResponse

  private static func importing(_ method: Method, _ path: String, _ answer: @escaping ImportMethod) -> Route {
    Route(
      method, "/imports" + path, under: "storekit2", "imports",
      .publisher(.imports) { gateway, call throws(Problem) in
        try await answer(gateway.imports(for: call.caller))(call)
      })
  }
}
