/// Counts of the busiest of very many, by value: each of these has a number of its own, and the rest have one together.
///
/// For example, of 10,000 publishers 20 have a number. One that has none and comes twice as often as the least busy of
/// these takes its place, from 0 on.
struct BusiestCounts {
  /// So many have numbers of their own.
  static let most = 20
  /// After so many counts the busiest are chosen anew.
  static let window = 5000
  /// So many are remembered of those that have no number.
  private static let mostCandidates = 1000

  /// The numbers of the busiest.
  private(set) var counts: [Int64: Int64] = [:]
  /// That of the rest.
  private(set) var others: Int64 = 0
  /// How often each came since the last choice.
  private var recent: [Int64: Int] = [:]
  private var candidates: [Int64: Int] = [:]
  private var counted = 0

  mutating func count(_ name: Int64) {
    if counts[name] != nil || counts.count < Self.most {
      counts[name, default: 0] += 1
      recent[name, default: 0] += 1
    } else {
      others += 1
      if candidates[name] != nil || candidates.count < Self.mostCandidates { candidates[name, default: 0] += 1 }
    }
    counted += 1
    if counted >= Self.window { choose() }
  }

  /// Gives the places of the rarest names to the busiest candidates.
  private mutating func choose() {
    var quiet = counts.keys.sorted { (recent[$0, default: 0], $0) < (recent[$1, default: 0], $1) }[...]
    for (name, count) in candidates.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
      guard let least = quiet.first, count > 2 * recent[least, default: 0] else { break }
      quiet.removeFirst()
      counts[least] = nil
      counts[name] = 0
    }
    (recent, candidates, counted) = ([:], [:], 0)
  }
}
