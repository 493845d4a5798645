/// How many events of its publisher come along with an event. It decides in which queue the event waits for a notifier,
/// so that few events never stand behind many (decision 0041).
public enum EventCrowd: String, CaseIterable, Sendable {
  /// No more than the publisher's notifiers take in at once.
  case few
  /// Thousands at once, as after an outage.
  case burst
  /// Any number more.
  case flood
}

/// How many events each publisher is ahead of an even pace, decided by value.
///
/// For example, a publisher has 20,000 events in one second. The first 600 are few: 100 may be ahead of the pace, and
/// 500 a second make the pace. The next 1,900 are a burst, and the rest is a flood. Forty seconds later its next event
/// is one of few again.
public struct EventPaces: Sendable {
  /// The pace: so many events of a publisher in a second are always few.
  public static let perSecond = 500
  /// How many events ahead of the pace are few. Few events keep no pace at a notifier (`BurstPace`), so a larger number
  /// would let a burst's first events hold up those of others (decision 0068).
  public static let few = 100
  /// How many events ahead of the pace are a burst. Each class has twenty times as many as the one before, so an event
  /// waits behind twenty times its own crowd at most.
  public static let burst = 2_000

  /// The longest time until a publisher that floods is even again.
  private static let longest: Duration = .seconds(160)
  private static let interval: Duration = .seconds(1) / perSecond
  /// From how many publishers on the even ones are forgotten: they are no different from unknown ones.
  private static let manyPublishers = 1_000

  /// When each publisher's events would be through, if they came at the pace.
  private var through: [PublisherId: Duration] = [:]
  /// At which number of publishers to look for even ones.
  private var cleansAt = manyPublishers

  /// Creates paces of publishers that had no event yet.
  public init() {}

  /// How many publishers are remembered.
  public var count: Int { through.count }

  /// Counts an event of a publisher, and classes it.
  ///
  /// - Parameter now: the time of a clock that never goes back.
  public mutating func add(_ publisher: PublisherId, at now: Duration) -> EventCrowd {
    if through.count >= cleansAt {
      through = through.filter { $0.value > now }
      cleansAt = max(Self.manyPublishers, through.count * 2)
    }
    // A flood of hours needs no more memory of it than a flood of minutes.
    let before = min(max(through[publisher] ?? .zero, now), now + Self.longest)
    through[publisher] = before + Self.interval
    switch before - now {
    case ..<(Self.interval * Self.few): return .few
    case ..<(Self.interval * Self.burst): return .burst
    default: return .flood
    }
  }
}
