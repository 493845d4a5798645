import Domain

/// Places that publishers share, by value.
///
/// A publisher may hold three times as many places as are free (a dynamic threshold, as switches share their memory),
/// and ``most`` at most. For example, of 266 places one publisher takes 200, and the next one 50. So however many
/// publishers are stuck at once, a place stays free for the next one.
struct SharedPlaces {
  /// What one publisher may hold at most.
  let most: Int
  /// All places: a third more than ``most``. So a publisher that is alone gets all of these.
  let places: Int
  private var held: [PublisherId: Int] = [:]
  /// How many places are taken.
  private(set) var count = 0

  init(most: Int) {
    self.most = max(1, most)
    places = self.most + max(1, self.most / 3)
  }

  /// How many places are free.
  var free: Int { max(0, places - count) }
  /// The publishers that hold places, in no order.
  var publishers: [PublisherId] { Array(held.keys) }

  func held(by publisher: PublisherId) -> Int { held[publisher, default: 0] }

  /// How many more places a publisher may take now, one after the other.
  ///
  /// With each place that it takes, one fewer is free. The place with number `k` is allowed while
  /// `held + k - 1 < 3 * (free - k + 1)`.
  func allowance(_ publisher: PublisherId) -> Int { allowance(holding: held(by: publisher)) }

  /// What ``allowance(_:)`` is for a publisher that holds nothing.
  var allowanceOfOthers: Int { allowance(holding: 0) }

  private func allowance(holding own: Int) -> Int { max(0, min(most - own, (3 * free - own + 3) / 4)) }

  mutating func take(_ publisher: PublisherId) {
    held[publisher, default: 0] += 1
    count += 1
  }

  /// Gives back a place; without one, changes nothing.
  mutating func giveBack(_ publisher: PublisherId) {
    guard let own = held[publisher] else { return }
    held[publisher] = own > 1 ? own - 1 : nil
    count -= 1
  }
}
