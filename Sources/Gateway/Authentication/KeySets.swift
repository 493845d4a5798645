import Domain
import EventLoop
import Formats
import Observability
import Service

/// The key sets that the gateway fetches for publishers (`customerTokens.jwks.url`).
///
/// It fetches in the background, also before the first token comes. ``KeySetCache`` says when.
@LoopActor
final class KeySets: RoleService {
  /// By publisher.
  private(set) var caches: [PublisherId: KeySetCache] = [:]

  private let log: Log
  private let fetches: Counter
  private let publishers: @LoopActor () -> Publishers
  private let now: @LoopActor () -> ContinuousClock.Instant
  private let fetch: @LoopActor (KeySetAddress) async -> KeySetFetch
  private var addresses: [PublisherId: KeySetAddress] = [:]
  private let running = RunningTasks()
  private let ended = LoopSignal()
  private lazy var looks = Chore(every: .seconds(1), after: .zero) { [weak self] in self?.look() }

  /// The label that counts a good fetch.
  nonisolated static let fetchedLabel = "fetched"

  /// Creates the sets without fetching them.
  ///
  /// - Parameters:
  ///   - publishers: the present ones.
  ///   - now: the time; tests set it.
  init(
    _ metrics: Metrics, _ log: Log, publishers: @escaping @LoopActor () -> Publishers,
    now: @escaping @LoopActor () -> ContinuousClock.Instant = { .now },
    fetch: @escaping @LoopActor (KeySetAddress) async -> KeySetFetch = { await KeySetFetch.run($0) }
  ) {
    (self.log, self.publishers, self.now, self.fetch) = (log, publishers, now, fetch)
    fetches = metrics.counter(
      "countersign_jwks_fetches_total", "Fetches of publishers' key sets.", labels: ["outcome"],
      known: ([Self.fetchedLabel] + KeySetFetch.Failure.allCases.map(\.rawValue)).map { [$0] })
    metrics.gauge("countersign_jwks_age_seconds", "Time since the oldest key set was fetched.") {
      [weak self] in self?.longest { $0.age(at: $1) } ?? 0
    }
    metrics.gauge("countersign_jwks_overdue_seconds", "How long the most overdue key set has been out of date.") {
      [weak self] in self?.longest { $0.overdue(at: $1) } ?? 0
    }
  }

  /// Fetches in the background until the stop.
  func start() { looks.start() }

  /// Begins no more fetches by itself. A request whose key is missing may still wait for one.
  func close() { looks.close() }

  func stop(within grace: Duration) async {
    await looks.stop(within: grace)
    // So the ends of these fetches are ignored.
    addresses = [:]
    running.close()
    running.cancel()
  }

  /// Takes the present publishers, and begins the fetches that are due.
  func look() {
    let time = now()
    follow(at: time)
    for id in Array(caches.keys) where caches[id]?.look(at: time) == true { begin(id) }
  }

  /// Fetches all sets again, because a provider may have withdrawn a key.
  func refresh() {
    let time = now()
    for id in Array(caches.keys) { caches[id]?.refresh(at: time) }
    look()
  }

  /// Lets a set be fetched again because it does not have a key.
  ///
  /// - Returns: whether a fetch of it runs now.
  func ask(for id: PublisherId) -> Bool {
    if caches[id]?.ask(at: now()) == true { begin(id) }
    return caches[id]?.isFetching ?? false
  }

  /// Waits while a set without keys is being fetched, until `limit` has passed at most.
  ///
  /// - Returns: whether it has waited; if not, no such fetch runs.
  func firstFetch(for id: PublisherId, atMost limit: Duration) async -> Bool {
    // A publisher may be so new that no look has found it.
    if caches[id] == nil { look() }
    let end = ContinuousClock.now + limit
    var hasWaited = false
    while let cache = caches[id], cache.keys == nil, cache.isFetching, .now < end {
      await ended.wait(atMost: end - .now)
      hasWaited = true
    }
    return hasWaited
  }

  private func follow(at time: ContinuousClock.Instant) {
    var wanted: [PublisherId: KeySetAddress] = [:]
    for publisher in publishers().all {
      if let address = publisher.customerTokens?.keySet { wanted[publisher.id] = address }
    }
    guard wanted != addresses else { return }
    for id in addresses.keys where wanted[id] != addresses[id] { caches[id] = nil }
    for id in wanted.keys where caches[id] == nil { caches[id] = KeySetCache(at: time) }
    addresses = wanted
  }

  private func begin(_ id: PublisherId) {
    guard let address = addresses[id], !running.isClosed else { return }
    running.start { [self] in end(id, address, await fetch(address)) }
  }

  /// Takes the end of a fetch. If the publisher's file names another address by now, nobody needs these keys.
  private func end(_ id: PublisherId, _ address: KeySetAddress, _ fetch: KeySetFetch) {
    defer { ended.notify() }
    guard addresses[id] == address, let cache = caches[id] else { return }
    switch fetch {
    case .fetched(let set, let maxAge):
      fetches.count(Self.fetchedLabel)
      caches[id]?.fetched(set.keys, maxAge: maxAge, at: now())
      // The log tells changes, and a provider repeats itself all day.
      let isKnown = cache.keys?.map(\.id) == set.keys.map(\.id)
      guard cache.failures > 0 || !isKnown else { return }
      log.info(
        cache.failures > 0 ? "key set fetched again" : "key set fetched",
        [
          "publisherId": .int(id.number), "keys": .int(Int64(set.keys.count)),
          "skipped": .int(Int64(set.skipped.count)),
        ])
    case .failed(let failure, let cause):
      fetches.count(failure.rawValue)
      caches[id]?.failed(at: now())
      // One line for each outage; the counter has every failure.
      guard cache.failures == 0 else { return }
      log.warning(
        "key set not fetched",
        ["publisherId": .int(id.number), "outcome": .string(failure.rawValue), "cause": .string(cause)])
    }
  }

  private func longest(_ time: (KeySetCache, ContinuousClock.Instant) -> Duration) -> Double {
    let now = now()
    return (caches.values.map { time($0, now) }.max() ?? .zero).inSeconds
  }
}
