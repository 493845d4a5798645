/// Shares out a worker's places, so that nobody's backlog keeps the others waiting.
///
/// Each time somebody else is first, and nobody gets more than a part of the places: of those that are free now, and of
/// all of them. Who is alone may have all.
public struct FairTurns<Name: Hashable & Sendable>: Sendable {
  private let places: Int
  private let part: Int
  private var running: [Name: Int] = [:]
  private var turn = 1

  /// So many share the free places of one turn. More would get nothing until the turn comes to them.
  private static var mostAtOnce: Int { 8 }
  /// The turns are counted up to this number, so that their count has an end.
  private static var longestRound: Int { 1_000_000_000 }

  /// - Parameters:
  ///   - places: how many things run at once.
  ///   - part: nobody holds more than the `part`th part of them.
  public init(places: Int, part: Int) { (self.places, self.part) = (places, part) }

  /// Returns what each may take now, in their order.
  ///
  /// - Parameters:
  ///   - all: how many there are at all, if `names` is a part of a longer list.
  ///   - isLast: whether the list ends with this part. The order changes once a round: if it changed with each part,
  ///     half of the names in two parts of 500 would never be first.
  public mutating func shares(
    of names: [Name], free: Int, among all: Int? = nil, isLast: Bool = true
  ) -> [(name: Name, most: Int)] {
    defer { if isLast { turn = turn < Self.longestRound ? turn + 1 : 0 } }
    guard free > 0, !names.isEmpty else { return [] }
    let first = turn % names.count
    let most = max(all ?? 0, names.count) == 1 ? places : max(1, places / part)
    let each = max(1, free / min(names.count, Self.mostAtOnce))
    return (names[first...] + names[..<first]).compactMap { name in
      let left = min(each, most - running[name, default: 0])
      return left > 0 ? (name, left) : nil
    }
  }

  /// Notes that something of somebody's runs.
  public mutating func begin(_ name: Name) { running[name, default: 0] += 1 }

  /// Notes that it has ended.
  public mutating func end(_ name: Name) {
    guard let count = running[name] else { return }
    running[name] = count > 1 ? count - 1 : nil
  }
}
