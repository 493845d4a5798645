/// A queue in which parties take turns; what one party has put in comes out in its order.
///
/// For example, a publisher has 5,000 commits in the queue. The commit of another publisher comes along, and leaves the
/// queue as the second one from then on.
public struct TurnQueue<Party: Hashable & Sendable, Element> {
  fileprivate struct Line {
    var elements: [Element] = []
    /// Where the elements begin that are still in the queue.
    var first = 0
  }

  private var lines: [Party: Line] = [:]
  /// The parties with elements in the queue, in the order of their turns.
  private var order: [Party] = []
  /// Whose turn it is, as a place in ``order``.
  private var turn = 0
  /// How many elements are in the queue.
  public private(set) var count = 0
  /// Whether nothing is in the queue.
  public var isEmpty: Bool { count == 0 }

  /// Creates an empty queue.
  public init() {}

  /// Adds an element behind all others of its party.
  public mutating func append(_ element: Element, of party: Party) {
    if lines[party] == nil { order.append(party) }
    lines[party, default: Line()].elements.append(element)
    count += 1
  }

  /// Takes the next elements out: one of each party in turn.
  ///
  /// - Returns: `most` elements, or all if there are fewer.
  public mutating func takeNext(_ most: Int) -> [Element] {
    var taken: [Element] = []
    taken.reserveCapacity(max(0, min(most, count)))
    while taken.count < most, !order.isEmpty {
      if turn >= order.count { turn = 0 }
      if let element = takeFirst(of: order[turn]) { taken.append(element) }
      if lines[order[turn]] == nil { order.remove(at: turn) } else { turn += 1 }
    }
    return taken
  }

  /// Takes the first element of a party, and forgets the party with its last one.
  private mutating func takeFirst(of party: Party) -> Element? {
    guard var line = lines.removeValue(forKey: party), line.first < line.elements.count else { return nil }
    let element = line.elements[line.first]
    line.first += 1
    count -= 1
    guard line.first < line.elements.count else { return element }
    if line.first >= 64, line.first * 2 > line.elements.count {
      line.elements.removeFirst(line.first)
      line.first = 0
    }
    lines[party] = line
    return element
  }
}

extension TurnQueue.Line: Sendable where Element: Sendable {}
extension TurnQueue: Sendable where Element: Sendable {}
