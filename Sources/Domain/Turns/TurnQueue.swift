/// A queue in which parties take turns; what one party has put in comes out in its order.
///
/// For example, a publisher has 5,000 commits in the queue. The commit of another publisher comes along, and leaves the
/// queue as the second one from then on.
public struct TurnQueue<Party: Hashable & Sendable, Element> {
  private var lines: [Party: FirstInFirstOut<Element>] = [:]
  /// The parties with elements in the queue, in the order of their turns. Who has had a turn, or comes, stands behind
  /// all others: so a party waits for one turn of each, however many come and go meanwhile.
  private var order = FirstInFirstOut<Party>()
  /// How many elements are in the queue.
  public private(set) var count = 0
  /// Whether nothing is in the queue.
  public var isEmpty: Bool { count == 0 }

  /// Creates an empty queue.
  public init() {}

  /// Adds an element behind all others of its party.
  public mutating func append(_ element: Element, of party: Party) {
    if lines[party] == nil { order.append(party) }
    lines[party, default: FirstInFirstOut()].append(element)
    count += 1
  }

  /// Takes the next elements out: one of each party in turn.
  ///
  /// - Returns: `most` elements, or all if there are fewer.
  public mutating func takeNext(_ most: Int) -> [Element] {
    var taken: [Element] = []
    taken.reserveCapacity(max(0, min(most, count)))
    while taken.count < most, let party = order.takeFirst() {
      // Out of the dictionary meanwhile, so that the line is not copied.
      guard var line = lines.removeValue(forKey: party), let element = line.takeFirst() else { continue }
      taken.append(element)
      count -= 1
      guard !line.isEmpty else { continue }
      lines[party] = line
      order.append(party)
    }
    return taken
  }

  /// Whose element comes next; `nil` if nothing is in the queue.
  public var next: Party? { order.first }

  /// Whether a party that a condition holds for has elements in the queue.
  public func hasParty(where isWanted: (Party) -> Bool) -> Bool { lines.keys.contains(where: isWanted) }

  /// Takes the next elements of one party out: of the first in the order of turns that a condition holds for.
  ///
  /// The parties before it come behind all others, so the condition should soon hold for each.
  ///
  /// - Returns: `most` elements, or all of the party's if there are fewer.
  public mutating func takeNextParty(_ most: Int, where isWanted: (Party) -> Bool = { _ in true }) -> [Element] {
    guard most > 0, hasParty(where: isWanted) else { return [] }
    var taken: [Element] = []
    while taken.isEmpty, let party = order.takeFirst() {
      guard var line = lines.removeValue(forKey: party) else { continue }
      if isWanted(party) {
        while taken.count < most, let element = line.takeFirst() { taken.append(element) }
        count -= taken.count
      }
      guard !line.isEmpty else { continue }
      lines[party] = line
      order.append(party)
    }
    return taken
  }
}

/// A queue whose first element leaves it at the cost of one element, in the mean.
private struct FirstInFirstOut<Element> {
  private var elements: [Element] = []
  /// Where the elements begin that are still in the queue.
  private var start = 0

  var isEmpty: Bool { start == elements.count }
  var first: Element? { isEmpty ? nil : elements[start] }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func takeFirst() -> Element? {
    guard let element = first else { return nil }
    start += 1
    if start >= 64, start * 2 > elements.count {
      elements.removeFirst(start)
      start = 0
    }
    return element
  }
}

extension FirstInFirstOut: Sendable where Element: Sendable {}
extension TurnQueue: Sendable where Element: Sendable {}
