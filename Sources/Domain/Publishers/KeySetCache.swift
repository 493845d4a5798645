/// What a gateway knows of a publisher's key set, and when it fetches the set again.
///
/// It is a state machine by value. The gateway asks it each second, and tells it the end of each fetch.
public struct KeySetCache: Sendable {
  /// The keys of the last good fetch; `nil` before the first one, and after the old keys have become too old.
  public private(set) var keys: [CustomerTokenKey]?
  /// Whether a fetch is under way.
  public private(set) var isFetching = false
  /// The failed fetches since the last good one.
  public private(set) var failures = 0

  private let begun: ContinuousClock.Instant
  private var fetchedAt: ContinuousClock.Instant?
  private var freshUntil: ContinuousClock.Instant
  private var nextFetch: ContinuousClock.Instant
  private var lastAsked: ContinuousClock.Instant?
  /// Whether a token has named an unknown key that no fetch has looked for.
  private var isWanted = false
  /// Whether the present fetch looks for such a key.
  private var looksForKey = false
  /// Whether another fetch follows the present one at once.
  private var mustFollow = false

  /// The server says how long a set is fresh, between these bounds.
  public static let freshness: ClosedRange<Duration> = .seconds(300)...(.seconds(86_400))
  /// How long the gateway uses a set that is no longer fresh, while it cannot get a new one.
  public static let staleness: Duration = .seconds(86_400)
  /// How often unknown keys lead to a fetch.
  public static let askingInterval: Duration = .seconds(60)
  /// The longest pause after a failed fetch.
  private static let longestPause: Duration = .seconds(60)

  /// Creates the state before the first fetch, which is due at once.
  public init(at now: ContinuousClock.Instant) {
    (begun, freshUntil, nextFetch) = (now, now, now)
  }

  /// Lets keys that are too old go, and begins a fetch if one is due.
  ///
  /// - Returns: whether the caller must fetch now.
  public mutating func look(at now: ContinuousClock.Instant) -> Bool {
    if fetchedAt != nil, now >= freshUntil + Self.staleness { keys = nil }
    let looksForKey = isWanted && keys != nil && mayAsk(now)
    guard !isFetching, now >= nextFetch || looksForKey else { return false }
    begin(looksForKey, now)
    return true
  }

  /// Begins a fetch because a token named a key that is not in the set, unless one began so a short time ago. In that
  /// case a fetch follows at the end of this time: forged tokens must not keep a new key away for longer.
  ///
  /// - Returns: whether the caller must fetch now.
  public mutating func ask(at now: ContinuousClock.Instant) -> Bool {
    guard keys != nil else { return false }
    // A fetch that runs may have missed a key that is newer.
    isWanted = true
    guard !isFetching, mayAsk(now) else { return false }
    begin(true, now)
    return true
  }

  /// Makes a fetch due, because the provider may have withdrawn a key. A fetch that runs may bring that key still, so
  /// another one follows it.
  public mutating func refresh(at now: ContinuousClock.Instant) {
    if isFetching { mustFollow = true } else { nextFetch = min(nextFetch, now) }
  }

  private func mayAsk(_ now: ContinuousClock.Instant) -> Bool {
    lastAsked.map { now >= $0 + Self.askingInterval } ?? true
  }

  private mutating func begin(_ looksForKey: Bool, _ now: ContinuousClock.Instant) {
    (isFetching, self.looksForKey) = (true, looksForKey)
    guard looksForKey else { return }
    (isWanted, lastAsked) = (false, now)
  }

  /// Takes the keys of a fetch. The next one comes before they are old.
  ///
  /// - Parameter maxAge: how long the server calls them fresh; `nil` if it says nothing.
  public mutating func fetched(_ keys: [CustomerTokenKey], maxAge: Duration?, at now: ContinuousClock.Instant) {
    let lifetime = min(max(maxAge ?? .zero, Self.freshness.lowerBound), Self.freshness.upperBound)
    (self.keys, isFetching, failures, fetchedAt) = (keys, false, 0, now)
    freshUntil = now + lifetime
    nextFetch = mustFollow ? now : now + lifetime * 9 / 10
    mustFollow = false
  }

  /// Notes a failed fetch. The old keys stay, and the pauses grow: 2, 4, 8, …, 60 seconds.
  ///
  /// A fetch that a token caused does not bring the next one nearer: otherwise one unknown key would cause many. It is
  /// repeated when a token may cause the next one.
  public mutating func failed(at now: ContinuousClock.Instant) {
    (isFetching, failures) = (false, failures + 1)
    if looksForKey { isWanted = true }
    guard now >= nextFetch || mustFollow else { return }
    mustFollow = false
    nextFetch = now + min(.seconds(1 << min(failures, 6)), Self.longestPause)
  }

  /// The time since the keys were fetched, or since the gateway wants them.
  public func age(at now: ContinuousClock.Instant) -> Duration { now - (fetchedAt ?? begun) }

  /// The time since the keys stopped being fresh; zero for fresh ones.
  public func overdue(at now: ContinuousClock.Instant) -> Duration { max(.zero, now - freshUntil) }
}
