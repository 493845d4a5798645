/// What waits, first in, first out. Its memory stays for what comes next.
struct WaitingLine<Element> {
  private var elements: [Element?] = []
  private var head = 0

  /// How many wait.
  var count: Int { elements.count - head }
  /// Whether nothing waits.
  var isEmpty: Bool { head == elements.count }
  /// The oldest.
  var first: Element? { isEmpty ? nil : elements[head] }

  /// Adds one behind all others.
  mutating func append(_ element: Element) { elements.append(element) }

  /// Takes the oldest.
  mutating func removeFirst() -> Element {
    let first = elements[head]!
    elements[head] = nil
    head += 1
    if isEmpty {
      elements.removeAll(keepingCapacity: true)
      head = 0
    } else if head > 4096 {
      elements.removeFirst(head)
      head = 0
    }
    return first
  }

  /// Takes all, in their order.
  mutating func removeAll() -> [Element] {
    defer { (elements, head) = ([], 0) }
    return elements[head...].compactMap(\.self)
  }
}
