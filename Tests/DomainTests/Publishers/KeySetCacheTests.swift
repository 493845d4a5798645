import Crypto
import Domain
import Testing

/// When a key set is fetched, and how long its keys count. Times are seconds after the start.
struct KeySetCacheTests {
  /// A key set with its clock. It is a class, since the macro of an expectation takes no call that changes a value.
  private final class Watched {
    private let start = ContinuousClock.now
    private(set) var cache: KeySetCache
    static let keys = [CustomerTokenKey(id: "a", .hs256([1]))]

    init() { cache = KeySetCache(at: start) }

    /// A set that was fetched at once.
    init(maxAge: Duration?) {
      cache = KeySetCache(at: start)
      _ = look(0)
      fetched(0, maxAge: maxAge)
    }

    func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }
    func look(_ seconds: Double) -> Bool { cache.look(at: at(seconds)) }
    func ask(_ seconds: Double) -> Bool { cache.ask(at: at(seconds)) }
    func refresh(_ seconds: Double) { cache.refresh(at: at(seconds)) }
    func failed(_ seconds: Double) { cache.failed(at: at(seconds)) }
    func fetched(_ seconds: Double, maxAge: Duration? = nil) {
      cache.fetched(Self.keys, maxAge: maxAge, at: at(seconds))
    }

    /// Whether a fetch is due at a time, and not a moment before.
    func isDue(_ seconds: Double) -> Bool {
      var (before, then) = (cache, cache)
      return !before.look(at: at(seconds - 0.001)) && then.look(at: at(seconds))
    }
  }

  @Test func `the first fetch is due at once, and only one runs`() {
    let set = Watched()
    #expect(set.cache.keys == nil && !set.cache.isFetching)
    #expect(set.look(0) && set.cache.isFetching)
    #expect(!set.look(99_999))
    set.fetched(1)
    #expect(set.cache.keys?.count == 1 && !set.cache.isFetching && set.cache.failures == 0)
  }

  @Test(arguments: [
    (nil, 270.0), (0, 270), (299, 270), (300, 270), (1000, 900), (86_400, 77_760), (999_999, 77_760),
  ])
  func `the server says when, between five minutes and a day`(maxAge: Int?, due: Double) {
    #expect(Watched(maxAge: maxAge.map { .seconds($0) }).isDue(due), "a tenth before the end")
  }

  @Test func `pauses after failures grow to a minute`() {
    let set = Watched()
    var second = 0.0
    for pause in [2.0, 4, 8, 16, 32, 60, 60] {
      #expect(set.look(second))
      set.failed(second)
      second += pause
      #expect(set.isDue(second), "\(pause)")
    }
    #expect(set.cache.failures == 7 && set.cache.keys == nil)
    _ = set.look(second)
    set.fetched(second)
    #expect(set.cache.failures == 0)
  }

  @Test func `old keys stay for a day after their end, and no longer`() {
    let set = Watched(maxAge: .seconds(300))
    for second in [270.0, 300, 40_000, 86_699] {
      _ = set.look(second)
      set.failed(second)
      #expect(set.cache.keys?.count == 1, "\(second)")
    }
    _ = set.look(86_700)
    #expect(set.cache.keys == nil)
    set.fetched(86_701)
    #expect(set.cache.keys?.count == 1)
  }

  @Test func `unknown keys cause one fetch a minute`() {
    let set = Watched(maxAge: .seconds(3600))
    #expect(set.ask(10) && set.cache.isFetching)
    #expect(!set.ask(10), "it runs")
    set.fetched(11, maxAge: .seconds(3600))
    for second in [12.0, 30, 69.9] { #expect(!set.ask(second)) }
    #expect(set.ask(70))
    #expect(!set.look(70), "one at a time")
  }

  /// Somebody sends a forged token each second. The provider begins to sign with a new key right after a fetch.
  @Test func `unknown keys within the minute cause a fetch at its end, and do not begin it anew`() {
    let set = Watched(maxAge: .seconds(3600))
    #expect(set.ask(10))
    set.fetched(11, maxAge: .seconds(3600))
    #expect(!set.isDue(70), "nobody has asked since")
    for second in 12..<70 { #expect(!set.ask(Double(second)) && !set.look(Double(second))) }
    #expect(set.isDue(70))
    #expect(set.look(70) && set.cache.isFetching)
    set.fetched(71, maxAge: .seconds(3600))
    #expect(!set.ask(72))
    #expect(set.isDue(130), "a minute after the fetch for the key, not after the last token")
    #expect(set.look(130))
    set.fetched(131, maxAge: .seconds(3600))
    #expect(!set.isDue(190) && set.isDue(131 + 3240), "nobody has asked since")
  }

  @Test func `a fetch that ran when a token named an unknown key may have missed it`() {
    let set = Watched(maxAge: .seconds(1000))
    #expect(set.look(900), "an ordinary fetch")
    #expect(!set.ask(901), "it runs")
    set.fetched(902, maxAge: .seconds(1000))
    #expect(set.look(902), "the first token of a minute need not wait")
    set.fetched(903, maxAge: .seconds(1000))
    #expect(set.isDue(1803))
  }

  @Test func `a failed fetch for an unknown key is not repeated before its time`() {
    let set = Watched(maxAge: .seconds(1000))
    #expect(set.ask(10))
    set.failed(15)
    #expect(set.cache.failures == 1 && set.cache.keys?.count == 1)
    #expect(set.isDue(70), "nobody has looked for the key yet")
    #expect(!set.ask(69) && set.ask(70))
    set.fetched(71, maxAge: .seconds(1000))
    #expect(set.isDue(971), "now somebody has")
  }

  @Test func `an old set without keys is fetched at its time, and no token changes that`() {
    let set = Watched(maxAge: .seconds(300))
    #expect(set.ask(10))
    set.failed(11)
    #expect(!set.ask(12))
    #expect(set.look(86_700) && set.cache.keys == nil)
    set.failed(86_701)
    #expect(!set.ask(86_702) && set.isDue(86_705))
  }

  @Test func `an operator's wish is fetched at once`() {
    let set = Watched(maxAge: .seconds(86_400))
    set.refresh(100)
    #expect(set.isDue(100))
    #expect(set.look(100))
    set.fetched(101, maxAge: .seconds(1000))
    #expect(set.isDue(1001))
  }

  @Test func `an operator's wish during a fetch causes another one behind it`() {
    let set = Watched(maxAge: .seconds(1000))
    #expect(set.look(900))
    set.refresh(901)
    #expect(!set.look(901), "one at a time")
    set.fetched(902, maxAge: .seconds(1000))
    #expect(set.look(902))
    set.fetched(903, maxAge: .seconds(1000))
    #expect(set.isDue(1803))
  }

  @Test func `an operator's wish is repeated while its fetch fails`() {
    let set = Watched(maxAge: .seconds(86_400))
    set.refresh(100)
    #expect(set.look(100))
    set.failed(101)
    #expect(set.isDue(103) && set.cache.keys?.count == 1)
    // A fetch for an unknown key, which fails after the operator's wish.
    let other = Watched(maxAge: .seconds(86_400))
    #expect(other.ask(10))
    other.refresh(11)
    other.failed(12)
    #expect(other.isDue(14))
    // In the pause after a failure it does not wait.
    other.refresh(13)
    #expect(other.isDue(13))
  }

  @Test func `nobody asks before the first fetch`() {
    let set = Watched()
    #expect(!set.ask(0))
    _ = set.look(0)
    #expect(!set.ask(0))
  }

  @Test func ages() {
    let set = Watched()
    func age(_ seconds: Double) -> Duration { set.cache.age(at: set.at(seconds)) }
    func overdue(_ seconds: Double) -> Duration { set.cache.overdue(at: set.at(seconds)) }
    #expect(age(7) == .seconds(7) && overdue(7) == .seconds(7))
    _ = set.look(7)
    set.fetched(8, maxAge: .seconds(300))
    #expect(age(10) == .seconds(2) && overdue(308) == .zero)
    #expect(age(400) == .seconds(392) && overdue(400) == .seconds(92))
    _ = set.look(400)
    set.failed(401)
    #expect(age(402) == .seconds(394), "a failed fetch makes nothing younger")
  }
}
