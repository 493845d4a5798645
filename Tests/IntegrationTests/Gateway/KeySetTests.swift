import Crypto
import EventLoop
import Fleets
import HTTPServer
import Observability
import ServerSupport
import Service
import TestSupport
import Testing

@testable import Domain
@testable import Gateway

/// Key sets that a gateway fetches over HTTP, with a clock that the test sets.
@Suite(.timeLimit(.minutes(5)))
@LoopActor
struct KeySetTests {
  /// A gateway's key sets, and the provider that they come from.
  @LoopActor
  private final class Lab {
    let provider: IdentityProvider
    let metrics = Metrics()
    private(set) var sets: KeySets!
    var publishers: Publishers
    var now = ContinuousClock.now

    init(_ provider: IdentityProvider) {
      self.provider = provider
      publishers = Publishers([Lab.publisher(7, provider.url)])
      sets = KeySets(
        metrics, Log(level: .error), publishers: { [unowned self] in publishers }, now: { [unowned self] in now },
        // All tests share one loop: a provider that waits for its turn has not failed.
        fetch: { await KeySetFetch.run($0, timeout: .patience) })
    }

    static func publisher(_ id: PublisherId, _ url: String?) -> Publisher {
      Publisher(
        id: id, customers: .open, tokenHashes: [],
        customerTokens: url.map {
          Publisher.CustomerTokenPolicy(keys: [], keySet: KeySetAddress(url: $0), customerClaim: "sub")
        }, apps: [], offers: OfferCatalog([]), webhooks: [])
    }

    /// Looks, and waits for the end of the fetches that begin.
    func look(after seconds: Double = 0) async throws {
      now += .seconds(seconds)
      sets.look()
      try await quiet()
    }

    func quiet() async throws {
      try await eventually("no fetch runs") { sets.caches.values.allSatisfy { !$0.isFetching } }
    }

    /// The status of a token, and what the gateway did about it.
    func status(_ token: String, publisher: PublisherId = 7) -> Int {
      let authenticator = Authenticator(
        publishers: publishers, keySets: sets.caches, now: 1_700_000_000, asksForKey: { [sets] in sets!.ask(for: $0) })
      do throws(Problem) {
        return try authenticator.customer(token).publisher.id == publisher ? 200 : 500
      } catch {
        return error.status
      }
    }

    func metric(_ name: String) -> Double? {
      metrics.text().split(separator: "\n").first { $0.hasPrefix(name + " ") }
        .flatMap { Double($0.drop { $0 != " " }.dropFirst()) }
    }

    func fetches(_ outcome: String) -> Double? { metric("countersign_jwks_fetches_total{outcome=\"\(outcome)\"}") }
  }

  private func with(_ body: @LoopActor (Lab, IdentityProvider) async throws -> Void) async throws {
    try await IdentityProvider.with { provider async throws in
      let lab = Lab(provider)
      try await body(lab, provider)
      await lab.sets.stop(within: .zero)
    }
  }

  private let one: P256PrivateKey
  private let two: P256PrivateKey

  init() throws { (one, two) = (try .generate(), try .generate()) }

  private func token(_ kid: String?, _ key: P256PrivateKey) throws -> String {
    try TestKeys.token(#"{"publisherId":7,"sub":"alice","exp":1700000060}"#, kid: kid, key)
  }

  @Test func `a set is fetched before the first token comes, and again before it is old`() async throws {
    try await with { lab, provider async throws in
      provider.publish([("a", one.publicKey)], maxAge: 1000)
      #expect(lab.fetches("fetched") == 0 && lab.metric("countersign_jwks_age_seconds") == 0)
      try await lab.look()
      #expect(lab.status(try token("a", one)) == 200)
      #expect(lab.status(try token(nil, one)) == 200)
      #expect(lab.status(try token("a", two)) == 401)
      try await lab.look(after: 899)
      #expect(provider.requests.all.count == 1)
      #expect(lab.metric("countersign_jwks_age_seconds") == 899)
      try await lab.look(after: 1)
      #expect(provider.requests.all == ["keys", "keys"])
      #expect(lab.fetches("fetched") == 2 && lab.metric("countersign_jwks_age_seconds") == 0)
    }
  }

  @Test func `a rotated key is found after one fetch, and a storm of unknown keys causes no more`() async throws {
    try await with { lab, provider async throws in
      provider.publish([("a", one.publicKey)])
      try await lab.look()
      provider.publish([("b", two.publicKey)])
      // Nobody knows yet whether the token is good.
      #expect(lab.status(try token("b", two)) == 503)
      for number in 0..<100 { #expect(lab.status(try token("x\(number)", two)) == 503) }
      try await lab.quiet()
      #expect(provider.requests.all.count == 2)
      #expect(lab.status(try token("b", two)) == 200)
      #expect(lab.status(try token("a", one)) == 401, "the old key is gone")
      for number in 0..<100 { #expect(lab.status(try token("x\(number)", two)) == 401) }
      try await lab.look(after: 59)
      #expect(lab.status(try token("x", two)) == 401)
      #expect(provider.requests.all.count == 2)
      lab.now += .seconds(1)
      #expect(lab.status(try token("x", two)) == 503)
      try await lab.quiet()
      #expect(provider.requests.all.count == 3)
    }
  }

  @Test func `forged tokens keep a new key out for a minute at most`() async throws {
    try await with { lab, provider async throws in
      provider.publish([("a", one.publicKey)], maxAge: 86_400)
      try await lab.look()
      #expect(lab.status(try token("forged", two)) == 503)
      try await lab.quiet()
      provider.publish([("b", two.publicKey)], maxAge: 86_400)
      for _ in 0..<59 {
        #expect(lab.status(try token("forged", one)) == 401)
        try await lab.look(after: 1)
      }
      #expect(try lab.status(token("b", two)) == 401 && provider.requests.all.count == 2)
      try await lab.look(after: 1)
      #expect(try lab.status(token("b", two)) == 200 && provider.requests.all.count == 3)
    }
  }

  @Test func `a withdrawn key is refused after SIGHUP`() async throws {
    try await with { lab, provider async throws in
      provider.publish([("a", one.publicKey), ("b", two.publicKey)], maxAge: 86_400)
      try await lab.look()
      provider.publish([("b", two.publicKey)], maxAge: 86_400)
      try await lab.look(after: 3600)
      #expect(lab.status(try token("a", one)) == 200)
      lab.sets.refresh()
      try await lab.quiet()
      #expect(provider.requests.all.count == 2)
      #expect(lab.status(try token("b", two)) == 200)
      #expect(lab.status(try token("a", one)) == 503, "a key that is not in the set may be a new one")
      try await lab.quiet()
      #expect(lab.status(try token("a", one)) == 401)
    }
  }

  @Test func `a provider that fails leaves the old keys, for a day after their end`() async throws {
    try await with { lab, provider async throws in
      provider.publish([("a", one.publicKey)])
      try await lab.look()
      provider.answer = .text(500, "")
      try await lab.look(after: 270)
      #expect(lab.fetches("status") == 1)
      provider.answer = .text(200, "<html>")
      try await lab.look(after: 2)
      #expect(lab.fetches("unusable") == 1)
      #expect(lab.metric("countersign_jwks_overdue_seconds") == 0)
      #expect(lab.status(try token("a", one)) == 200)
      try await lab.look(after: 86_400)
      #expect(lab.status(try token("a", one)) == 200)
      #expect(lab.metric("countersign_jwks_overdue_seconds") == 86_372)
      try await lab.look(after: 28)
      #expect(lab.status(try token("a", one)) == 503, "nobody knows the keys any more")
      provider.publish([("a", one.publicKey)])
      try await lab.look(after: 60)
      #expect(lab.status(try token("a", one)) == 200)
      #expect(lab.metric("countersign_jwks_overdue_seconds") == 0)
    }
  }

  @Test func `answers that are no set of keys`() async throws {
    try await with { lab, provider async throws in
      var redirect = HTTPServerResponse.text(302, "")
      redirect.headers.append(("Location", provider.url))
      let huge = #"{"keys":[],"more":""# + String(repeating: "x", count: 300_000) + #""}"#
      let many = TestKeys.set(Array(repeating: "{}", count: 101))
      for (answer, outcome) in [
        (redirect, "status"), (HTTPServerResponse.text(404, "{}"), "status"), (.text(200, huge), "unusable"),
        (.text(200, many), "unusable"), (.text(200, #"{"keys":[{"kty":"oct","k":"AA"}]}"#), "unusable"),
      ] {
        let before = lab.fetches(outcome) ?? -1
        provider.answer = answer
        try await lab.look(after: 60)
        #expect(lab.fetches(outcome) == before + 1, "\(outcome)")
        #expect(lab.status(try token("a", one)) == 503)
      }
      provider.publish([("a", one.publicKey)])
      try await lab.look(after: 60)
      #expect(lab.status(try token("a", one)) == 200)
    }
  }

  @Test func `requests share the first fetch, and wait for no other publisher's`() async throws {
    try await with { lab, provider async throws in
      provider.answer = nil
      lab.publishers = Publishers([Lab.publisher(7, provider.url), Lab.publisher(8, nil)])
      // The first of them begins the fetch.
      let waiting = (0..<20).map { _ in Task { await lab.sets.firstFetch(for: 7, atMost: .seconds(60)) } }
      try await provider.requests.wait { $0.count == 1 }
      #expect(await !lab.sets.firstFetch(for: 8, atMost: .seconds(60)))
      #expect(await lab.sets.firstFetch(for: 7, atMost: .milliseconds(1)), "the time limit")
      #expect(lab.sets.caches[7]?.keys == nil)
      provider.publish([("a", one.publicKey)])
      for task in waiting { #expect(await task.value) }
      #expect(lab.status(try token("a", one)) == 200)
      #expect(provider.requests.all.count == 1)
      #expect(await !lab.sets.firstFetch(for: 7, atMost: .seconds(60)), "it has its keys")
    }
  }

  @Test func `another address begins anew, and a removed one is forgotten`() async throws {
    try await with { lab, provider async throws in
      provider.publish([("a", one.publicKey)])
      try await lab.look()
      lab.publishers = Publishers([Lab.publisher(7, provider.url + "?tenant=2")])
      provider.answer = .text(500, "")
      try await lab.look()
      #expect(lab.sets.caches[7]?.keys == nil, "keys of another address count for nothing")
      lab.publishers = Publishers([Lab.publisher(7, nil)])
      try await lab.look()
      #expect(lab.sets.caches.isEmpty && lab.metric("countersign_jwks_overdue_seconds") == 0)
      try await lab.look(after: 100)
      #expect(provider.requests.all.count == 2)
    }
  }

  @Test func `a provider that does not answer in time is unreachable`() async throws {
    try await IdentityProvider.with { provider async throws in
      provider.answer = nil
      let outcome = await KeySetFetch.run(KeySetAddress(url: provider.url), timeout: .milliseconds(50))
      guard case .failed(.unreachable, let cause) = outcome else {
        Issue.record("a silent provider answered")
        return
      }
      #expect(cause.contains("timeout"))
    }
  }

  @Test func `a provider that is away is unreachable`() async throws {
    let server = try HTTPServer(.unlimited) { _ in .text(200, "") }
    let port = server.port
    await server.close()
    guard
      case .failed(.unreachable, let cause) = await KeySetFetch.run(KeySetAddress(url: "http://127.0.0.1:\(port)/k"))
    else {
      Issue.record("a closed port answered")
      return
    }
    #expect(!cause.contains("/k"), "a path may hold something secret")
  }
}
