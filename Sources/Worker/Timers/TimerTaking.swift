import Domain
import Ledger

/// Decides by value which due timers a worker takes next: fairly between publishers, and between apps.
struct TimerTaking {
  private let places: Int
  private var publishers: PublisherTaking
  private var apps: FairTurns<AppKey>

  /// What to take now.
  struct Turn {
    let apps: [Timers.Share]
    let publishers: [PublisherShare]
    let most: Int
    /// Whether every publisher had a turn since the first one had. Otherwise the next turn comes soon.
    let isLast: Bool
  }

  /// - Parameter places: how many looks run at once.
  init(places: Int) {
    self.places = places
    publishers = PublisherTaking(places: places, part: 2)
    apps = FairTurns(places: places, part: 4)
  }

  /// The next turn; `nil` if every place is taken. It has a quarter of the places at most: a burst of looks would keep
  /// registrations waiting.
  mutating func turn(of all: [Publisher], running: Int) -> Turn? {
    let free = min(max(1, places / 4), places - running)
    guard let turn = publishers.turn(of: all, free: free) else { return nil }
    let names = Self.apps(of: turn.publishers)
    let shares = apps.shares(
      of: names, free: free, among: names.count + all.count - turn.publishers.count, isLast: turn.isLast)
    return Turn(
      apps: shares.map { Timers.Share($0.name, most: $0.most) }, publishers: turn.shares, most: free,
      isLast: turn.isLast)
  }

  /// The apps of publishers.
  static func apps(of publishers: some Sequence<Publisher>) -> [AppKey] {
    publishers.flatMap { publisher in
      publisher.apps.map { AppKey(publisherId: publisher.id, bundleId: $0.bundleId) }
    }
  }

  /// Notes that a look begins.
  mutating func begin(_ due: DuePurchase) {
    publishers.begin(due.key.publisherId)
    apps.begin(due.app)
  }

  /// Notes that a look has ended.
  mutating func end(_ due: DuePurchase) {
    publishers.end(due.key.publisherId)
    apps.end(due.app)
  }
}

extension DuePurchase {
  fileprivate var app: AppKey { AppKey(publisherId: key.publisherId, bundleId: bundleId) }
}
