import Configuration
import Domain
import EventLoop
import Formats
import HTTP
import HTTPClient
import Observability
import Service

/// Asks the provider: for its description, its keys, and the token of a sign-in. It keeps the first two for a while.
@LoopActor
final class OpenIDProvider {
  /// Why the provider is of no use just now.
  struct Failure: Error, Equatable, CustomStringConvertible {
    let description: String
  }

  /// So long a description counts without another look.
  nonisolated static let freshness = Duration.seconds(3600)
  /// After a failure, nobody asks for so long.
  nonisolated static let pause = Duration.seconds(2)

  let settings: OpenIDSettings
  private let log: Log
  private let sender: any HTTPSender
  private let fetchKeys: @LoopActor (KeySetAddress) async -> KeySetFetch
  private let now: @LoopActor () -> ContinuousClock.Instant

  private var known: (description: ProviderDescription, at: ContinuousClock.Instant)?
  private var failed: (Failure, at: ContinuousClock.Instant)?
  private var keys: (url: String, cache: KeySetCache)?
  /// People who come at the same time wait for one answer.
  private var looking: Task<Void, Never>?
  private var fetching: Task<Void, Never>?

  /// Creates a provider without asking it anything.
  ///
  /// - Parameter now: the time; tests set it.
  init(
    _ settings: OpenIDSettings, _ log: Log, _ sender: (any HTTPSender)? = nil,
    now: @escaping @LoopActor () -> ContinuousClock.Instant = { .now },
    fetchKeys: @escaping @LoopActor (KeySetAddress) async -> KeySetFetch = { await KeySetFetch.run($0) }
  ) {
    (self.settings, self.log, self.now, self.fetchKeys) = (settings, log, now, fetchKeys)
    self.sender = sender ?? Self.client(settings)
  }

  private static func client(_ settings: OpenIDSettings) -> HTTPClient {
    var configuration = HTTPClientConfiguration()
    configuration.caFile = settings.caFile
    configuration.keepsConnections = false
    // The reader of the setting, and that of the description, let it be for this machine only.
    configuration.allowsPlainHTTP = settings.issuer.hasPrefix("http:")
    return HTTPClient(configuration)
  }

  /// Ends what runs.
  func close() {
    fetching?.cancel()
    sender.close()
  }

  /// Returns the description.
  func description() async throws(Failure) -> ProviderDescription {
    if let known, now() < known.at + Self.freshness { return known.description }
    if let failed, now() < failed.at + Self.pause {
      if let known { return known.description }
      throw failed.0
    }
    if looking == nil {
      looking = Task { @LoopActor in
        await look()
        looking = nil
      }
    }
    await looking?.value
    if let known { return known.description }
    throw failed?.0 ?? Failure(description: "the provider did not answer")
  }

  /// Asks for the description. If there is no new one, the old one counts on.
  private func look() async {
    let request = HTTPClientRequest(
      "GET", ProviderDescription.url(of: settings.issuer), headers: [("Accept", "application/json")],
      timeout: .seconds(5), maxResponseBytes: ProviderDescription.mostBytes)
    do {
      let response = try await sender.send(request)
      guard response.status == 200 else { throw Failure(description: "HTTP \(response.status)") }
      known = (try ProviderDescription(response.body, of: settings.issuer), now())
      failed = nil
    } catch {
      let failure = Failure(description: "the provider's description: \(error)")
      if failed == nil { log.warning("openid provider has no usable description", ["cause": .string("\(error)")]) }
      failed = (failure, now())
    }
  }

  /// Returns the keys, among them the one that has signed a token if the provider has it.
  func keys(_ description: ProviderDescription, for token: IDToken) async throws(Failure) -> [CustomerTokenKey] {
    if keys?.url.isExactly(description.keySetURL) != true { keys = (description.keySetURL, KeySetCache(at: now())) }
    if keys?.cache.look(at: now()) == true { fetch(description.keySetURL) }
    if keys?.cache.keys == nil { await fetching?.value }
    if let found = keys?.cache.keys, !token.hasKey(among: found) {
      if keys?.cache.ask(at: now()) == true { fetch(description.keySetURL) }
      await fetching?.value
    }
    guard let found = keys?.cache.keys else { throw Failure(description: "the provider's keys are not known") }
    return found
  }

  private func fetch(_ url: String) {
    fetching = Task { @LoopActor in
      let outcome = await fetchKeys(KeySetAddress(url: url, caFile: settings.caFile))
      fetching = nil
      guard let cache = keys?.cache, keys?.url.isExactly(url) == true else { return }
      switch outcome {
      case .fetched(let set, let maxAge): keys?.cache.fetched(set.keys, maxAge: maxAge, at: now())
      case .failed(_, let cause):
        keys?.cache.failed(at: now())
        if cache.failures == 0 { log.warning("openid provider's keys not fetched", ["cause": .string(cause)]) }
      }
    }
  }

  /// Redeems a code.
  func exchange(
    _ code: String, _ attempt: OpenIDAttempt, _ description: ProviderDescription
  ) async -> TokenExchange.Answer {
    var secret: String?
    if let file = settings.clientSecretFile {
      // As it is now: secrets of clients end at a date.
      secret = (try? await EventLoop.offload { OpenIDSettings.readClientSecret(file) }) ?? nil
      if secret == nil { return .failed("the file of the client secret cannot be read, or is empty") }
    }
    do {
      return TokenExchange.answer(
        try await sender.send(TokenExchange.request(code, attempt, description, settings, secret)))
    } catch {
      return .failed("\(error)")
    }
  }
}
