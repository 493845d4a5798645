import Domain
import EventLoop
import Observability
import Service
import TestSupport
import Testing

@testable import Gateway

/// The key sets of publishers, with a provider by value.
@LoopActor
struct KeySetsTests {
  @LoopActor
  private final class Provider {
    var now = ContinuousClock.now
    var publishers = Publishers([])
    var asked: [String] = []
    var ended = 0
    /// Whether it answers.
    var isOpen = true
    let gate = LoopSignal()

    func fetch(_ address: KeySetAddress) async -> KeySetFetch {
      asked.append(address.url)
      while !isOpen, !Task.isCancelled { await gate.wait(atMost: .patience) }
      ended += 1
      return .failed(.status, cause: "HTTP 500")
    }

    func answer() {
      isOpen = true
      gate.notify()
    }
  }

  private let provider = Provider()
  private let metrics = Metrics()
  private let sets: KeySets

  init() {
    sets = KeySets(
      metrics, Log(level: .error), publishers: { [provider] in provider.publishers },
      now: { [provider] in provider.now }, fetch: { [provider] in await provider.fetch($0) })
    publish([1: "https://one.example/keys"])
  }

  private func publish(_ urls: [PublisherId: String]) {
    provider.publishers = Publishers(
      urls.sorted { $0.key < $1.key }.map { id, url in
        Publisher(
          id: id, customers: .open, tokenHashes: [],
          customerTokens: Publisher.CustomerTokenPolicy(
            keys: [], keySet: KeySetAddress(url: url), customerClaim: "sub"),
          apps: [], offers: OfferCatalog([]), webhooks: [])
      })
  }

  private func isFetching(_ id: PublisherId = 1) -> Bool { sets.caches[id]?.isFetching ?? false }
  private var failures: Bool { metrics.text().contains("countersign_jwks_fetches_total{outcome=\"status\"} 1\n") }

  @Test func `a look begins one fetch of each set`() async throws {
    provider.isOpen = false
    sets.look()
    sets.look()
    try await eventually("the provider is asked") { !provider.asked.isEmpty }
    #expect(isFetching() && !failures)
    provider.answer()
    try await eventually("the fetch ends") { !isFetching() }
    #expect(provider.asked.count == 1 && sets.caches[1]?.failures == 1 && failures)
  }

  @Test func `a request waits for the first fetch, also of a publisher that no look has found`() async {
    #expect(await sets.firstFetch(for: 1, atMost: .patience))
    #expect(provider.asked.count == 1)
    // A failed fetch is not repeated at once.
    #expect(await !sets.firstFetch(for: 1, atMost: .patience))
    #expect(await !sets.firstFetch(for: 2, atMost: .patience))
  }

  @Test func `the end of a fetch counts for the address that asked`() async throws {
    provider.isOpen = false
    sets.look()
    try await eventually("the first address is asked") { provider.asked.count == 1 }
    publish([1: "https://two.example/keys"])
    sets.look()
    try await eventually("the second one is asked") { provider.asked.count == 2 }
    publish([:])
    sets.look()
    #expect(sets.caches.isEmpty)
    provider.answer()
    try await eventually("both answer") { provider.ended == 2 }
    for _ in 0..<100 { await Task.yield() }
    #expect(sets.caches.isEmpty && !failures)
  }

  @Test func `a stop ends the fetches, and their ends do not count`() async throws {
    provider.isOpen = false
    sets.start()
    try await eventually("the provider is asked") { provider.asked.count == 1 }
    sets.close()
    await sets.stop(within: .patience)
    try await eventually("the fetch has ended") { provider.ended == 1 }
    for _ in 0..<100 { await Task.yield() }
    #expect(!failures)
  }
}
