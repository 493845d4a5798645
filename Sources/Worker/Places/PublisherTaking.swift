import Domain
import Ledger

/// Decides by value of whom a worker takes due rows next, and how many: fairly between publishers.
struct PublisherTaking {
  private var turns: FairTurns<PublisherId>
  private var window = LookWindow()

  /// What to take now.
  struct Turn {
    /// The publishers whose turn it is.
    let publishers: ArraySlice<Publisher>
    let shares: [PublisherShare]
    /// The most rows of all of them together.
    let most: Int
    /// Whether every publisher had a turn since the first one had. Otherwise the next turn comes soon.
    let isLast: Bool
  }

  /// - Parameters:
  ///   - places: how many rows run at once.
  ///   - part: one of several publishers has this part of them at most, 4 for a quarter.
  init(places: Int, part: Int) { turns = FairTurns(places: places, part: part) }

  /// The next turn; `nil` if no place is free.
  mutating func turn(of all: [Publisher], free: Int) -> Turn? {
    guard free > 0 else { return nil }
    let (publishers, isLast) = window.next(of: all)
    let shares = turns.shares(of: publishers.map(\.id), free: free, among: all.count, isLast: isLast)
    return Turn(
      publishers: publishers, shares: shares.map { PublisherShare(publisherId: $0.name, most: $0.most) }, most: free,
      isLast: isLast)
  }

  /// Notes that a row of this publisher begins.
  mutating func begin(_ publisherId: PublisherId) { turns.begin(publisherId) }

  /// Notes that it has ended.
  mutating func end(_ publisherId: PublisherId) { turns.end(publisherId) }
}
