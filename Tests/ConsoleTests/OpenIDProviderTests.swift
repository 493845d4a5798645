import Configuration
import Crypto
import Domain
import EventLoop
import HTTP
import Observability
import RoleSupport
import Service
import TestSupport
import Testing

@testable import Console

/// What the console asks a provider for, and when again.
@LoopActor
struct OpenIDProviderTests {
  /// Answers each request with the next of a list, and at the end with the last one.
  private final class Sender: HTTPSender {
    var answers: [HTTPClientResponse]
    var sent: [HTTPClientRequest] = []
    var inFlight: Int { 0 }

    init(_ answers: [HTTPClientResponse]) { self.answers = answers }

    func send(_ request: HTTPClientRequest) async throws(HTTPClientError) -> HTTPClientResponse {
      sent.append(request)
      return answers.count > 1 ? answers.removeFirst() : answers[0]
    }

    func close() {}
  }

  /// A clock and a key set that a test sets.
  private final class World {
    var now = ContinuousClock.now
    var keys: [String] = []
    var fetches: [KeySetAddress] = []

    func fetch(_ address: KeySetAddress) throws -> KeySetFetch {
      fetches.append(address)
      return KeySetFetch(HTTPClientResponse(status: keys.isEmpty ? 500 : 200, body: Array(TestKeys.set(keys).utf8)))
    }
  }

  private static let description = HTTPClientResponse(
    status: 200,
    body: Array(
      """
      {"issuer": "https://id.example", "authorization_endpoint": "https://id.example/a",
       "token_endpoint": "https://id.example/t", "jwks_uri": "https://id.example/k",
       "id_token_signing_alg_values_supported": ["ES256"]}
      """.utf8))
  private static let away = HTTPClientResponse(status: 503)

  private let folder: ConfigurationFolder
  private let world = World()

  init() throws { folder = try ConfigurationFolder() }

  private func provider(_ sender: Sender) throws -> OpenIDProvider {
    let settings = try folder.settings(
      """
      {"console": {"publicUrl": "https://c.example", "openId": {
        "issuer": "https://id.example", "clientId": "console", "rolesFile": "roles"}}}
      """)
    return OpenIDProvider(
      try #require(settings.console.openID), Log(level: .error, [:]), sender, now: { [world] in world.now },
      fetchKeys: { [world] in (try? world.fetch($0)) ?? .failed(.unusable, cause: "") })
  }

  @Test func `a description is kept for an hour, and for longer while the provider is away`() async throws {
    let sender = Sender([Self.description])
    let provider = try provider(sender)
    for _ in 1...3 { _ = try await provider.description() }
    #expect(sender.sent.map(\.url) == ["https://id.example/.well-known/openid-configuration"])
    #expect(
      sender.sent.allSatisfy { $0.timeout == .seconds(5) && $0.maxResponseBytes == ProviderDescription.mostBytes })
    world.now += .seconds(3600)
    sender.answers = [Self.away, Self.description]
    _ = try await provider.description()
    #expect(sender.sent.count == 2)
    // Nobody asks again at once.
    _ = try await provider.description()
    #expect(sender.sent.count == 2)
    world.now += OpenIDProvider.pause
    _ = try await provider.description()
    _ = try await provider.description()
    #expect(sender.sent.count == 3)
  }

  @Test func `a provider without a description is asked every two seconds`() async throws {
    let sender = Sender([Self.away])
    let provider = try provider(sender)
    for _ in 1...3 {
      await #expect(throws: OpenIDProvider.Failure.self) { try await provider.description() }
    }
    #expect(sender.sent.count == 1)
    world.now += OpenIDProvider.pause
    // A page of a proxy is no description, and no redirect is followed.
    sender.answers = [HTTPClientResponse(status: 302, headers: [("location", "https://evil.example")])]
    await #expect(throws: OpenIDProvider.Failure.self) { try await provider.description() }
    world.now += OpenIDProvider.pause
    sender.answers = [HTTPClientResponse(status: 200, body: Array("<html>".utf8))]
    await #expect(throws: OpenIDProvider.Failure.self) { try await provider.description() }
    #expect(sender.sent.count == 3)
  }

  @Test func `people who come at the same time wait for one answer`() async throws {
    let sender = Sender([Self.description])
    let provider = try provider(sender)
    async let one = provider.description()
    async let two = provider.description()
    #expect(try await one == two && sender.sent.count == 1)
  }

  private func token(_ key: P256PrivateKey, kid: String) throws -> IDToken {
    try IDToken(try TestKeys.token("{}", kid: kid, key))
  }

  @Test func `a new key is fetched when a token needs it, and not with each forged one`() async throws {
    let provider = try provider(Sender([Self.description]))
    let description = try await provider.description()
    let (old, new) = (try P256PrivateKey.generate(), try P256PrivateKey.generate())
    world.keys = [TestKeys.jwk(old.publicKey, id: "old")]
    #expect(try await provider.keys(description, for: token(old, kid: "old")).map(\.id) == ["old"])
    #expect(try await provider.keys(description, for: token(old, kid: "old")).map(\.id) == ["old"])
    #expect(world.fetches == [KeySetAddress(url: "https://id.example/k")])
    world.keys.append(TestKeys.jwk(new.publicKey, id: "new"))
    #expect(try await provider.keys(description, for: token(new, kid: "new")).map(\.id) == ["old", "new"])
    #expect(world.fetches.count == 2)
    for _ in 1...5 { _ = try await provider.keys(description, for: token(new, kid: "forged")) }
    #expect(world.fetches.count == 2)
    world.now += KeySetCache.askingInterval
    _ = try await provider.keys(description, for: token(new, kid: "forged"))
    #expect(world.fetches.count == 3)
  }

  @Test func `without keys nobody signs in`() async throws {
    let provider = try provider(Sender([Self.description]))
    let description = try await provider.description()
    let key = try P256PrivateKey.generate()
    for _ in 1...2 {
      await #expect(throws: OpenIDProvider.Failure.self) {
        try await provider.keys(description, for: token(key, kid: "a"))
      }
    }
    // The pauses of KeySetCache: the second person does not ask again.
    #expect(world.fetches.count == 1)
    world.keys = [TestKeys.jwk(key.publicKey, id: "a")]
    world.now += .seconds(2)
    #expect(try await provider.keys(description, for: token(key, kid: "a")).count == 1)
  }
}
