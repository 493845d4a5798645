import Domain

/// For how long each publisher's bursts have come without a break, decided by value.
///
/// A load that lasts is not a new burst each time its line is empty for a moment. Only ``BurstPace/patience`` without a
/// message is a break.
struct BurstAges {
  private struct Age {
    let since: Duration
    let last: Duration
  }

  /// From how many publishers on those with a break are forgotten.
  private static let many = 1_000

  private var ages: [PublisherId: Age] = [:]
  private var cleansAt = many

  /// How many publishers are remembered.
  var count: Int { ages.count }

  /// Notes that a message of a publisher's burst has come.
  mutating func note(_ publisher: PublisherId, at now: Duration) {
    if ages.count >= cleansAt {
      ages = ages.filter { now - $0.value.last < BurstPace.patience }
      cleansAt = max(Self.many, ages.count * 2)
    }
    ages[publisher] = Age(since: now - age(of: publisher, at: now), last: now)
  }

  /// How old the publisher's burst is; zero after a break, and without one.
  func age(of publisher: PublisherId, at now: Duration) -> Duration {
    guard let age = ages[publisher], now - age.last < BurstPace.patience else { return .zero }
    return now - age.since
  }
}
