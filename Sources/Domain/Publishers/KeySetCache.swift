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

  /// The server says how long a set is fresh, between these bounds.
  public static let freshness: ClosedRange<Duration> = .seconds(300)...(.seconds(86_400))
  /// How long the gateway uses a set that is fresh no more, while it cannot get a new one.
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
    guard !isFetching, now >= nextFetch else { return false }
    isFetching = true
    return true
  }

  /// Begins a fetch because a token named a key that is not in the set, unless one began so a short time ago.
  ///
  /// - Returns: whether the caller must fetch now.
  public mutating func ask(at now: ContinuousClock.Instant) -> Bool {
    guard keys != nil, !isFetching, lastAsked.map({ now >= $0 + Self.askingInterval }) ?? true else { return false }
    (lastAsked, isFetching) = (now, true)
    return true
  }

  /// Takes the keys of a fetch. The next one comes before they are old.
  ///
  /// - Parameter maxAge: how long the server calls them fresh; `nil` if it says nothing.
  public mutating func fetched(_ keys: [CustomerTokenKey], maxAge: Duration?, at now: ContinuousClock.Instant) {
    let lifetime = min(max(maxAge ?? .zero, Self.freshness.lowerBound), Self.freshness.upperBound)
    (self.keys, isFetching, failures, fetchedAt) = (keys, false, 0, now)
    freshUntil = now + lifetime
    nextFetch = now + lifetime * 9 / 10
  }

  /// Notes a failed fetch. The old keys stay, and the pauses grow: 2, 4, 8, …, 60 seconds.
  ///
  /// A fetch that a token caused does not bring the next one nearer: otherwise one unknown key would cause many.
  public mutating func failed(at now: ContinuousClock.Instant) {
    (isFetching, failures) = (false, failures + 1)
    guard now >= nextFetch else { return }
    nextFetch = now + min(.seconds(1 << min(failures, 6)), Self.longestPause)
  }

  /// The time since the keys were fetched, or since the gateway wants them.
  public func age(at now: ContinuousClock.Instant) -> Duration { now - (fetchedAt ?? begun) }

  /// The time since the keys are fresh no more; zero for fresh ones.
  public func overdue(at now: ContinuousClock.Instant) -> Duration { max(.zero, now - freshUntil) }
}
