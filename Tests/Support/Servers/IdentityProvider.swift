public import Crypto
public import EventLoop
import Fleets
public import HTTPServer
public import TestSupport

/// An identity provider on a port of its own. It answers every request with its present answer, and counts them.
@LoopActor
public final class IdentityProvider {
  /// What it answers; `nil` lets the requests wait.
  public var answer: HTTPServerResponse? = .text(200, "") {
    didSet { changed.notify() }
  }
  public let requests = Mailbox<String>(of: "requests for the keys")
  private let changed = LoopSignal()
  private var isClosing = false
  private var server: HTTPServer!

  private init() throws {
    server = try HTTPServer(.unlimited) { [weak self] in await self?.take($0) ?? .text(503, "") }
  }

  /// Runs a body with a provider.
  public static func with(_ body: @LoopActor (IdentityProvider) async throws -> Void) async throws {
    let provider = try IdentityProvider()
    do {
      try await body(provider)
    } catch {
      await provider.close()
      throw error
    }
    await provider.close()
  }

  /// The address of its set.
  public var url: String { "http://127.0.0.1:\(server.port)/keys" }

  /// Publishes keys, with the ids that stand beside them.
  public func publish(_ keys: [(id: String, key: P256PublicKey)], maxAge: Int = 300) {
    var answer = HTTPServerResponse.text(200, TestKeys.set(keys.map { TestKeys.jwk($0.key, id: $0.id) }))
    answer.headers.append(("Cache-Control", "public, max-age=\(maxAge)"))
    self.answer = answer
  }

  private func take(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    requests.put(request.path.joined(separator: "/"))
    while true {
      if let answer { return answer }
      if isClosing { return .text(503, "") }
      await changed.wait(atMost: .seconds(60))
    }
  }

  private func close() async {
    isClosing = true
    changed.notify()
    await server.close()
  }
}
