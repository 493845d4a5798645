/// The notifications so far. The oldest are forgotten when there are too many: each takes some two kilobytes.
struct NotificationArchive: Sendable {
  private let capacity: Int
  private var kept: [SimulatedNotification] = []
  /// The number of the first that is kept.
  private(set) var first = 0
  /// The places by UUID, for tests that ask for one.
  private var numbers: [String: Int] = [:]

  init(capacity: Int = 200_000) { self.capacity = capacity }

  /// The number that the next one gets.
  var next: Int { first + kept.count }

  subscript(_ number: Int) -> SimulatedNotification? {
    number >= first && number < next ? kept[number - first] : nil
  }

  subscript(uuid uuid: String) -> SimulatedNotification? { numbers[uuid].flatMap { self[$0] } }

  /// All that are kept, oldest first.
  var all: ArraySlice<SimulatedNotification> { kept[...] }

  mutating func add(_ notification: SimulatedNotification) {
    // A tenth at a time, because moving the rest takes as long as keeping it.
    if kept.count >= capacity {
      let surplus = max(1, capacity / 10)
      for old in kept[..<surplus] { numbers[old.uuid] = nil }
      kept.removeFirst(surplus)
      first += surplus
    }
    numbers[notification.uuid] = notification.number
    kept.append(notification)
  }

  mutating func note(_ attempt: SimulatedNotification.Attempt, of number: Int) {
    guard number >= first, number < next else { return }
    kept[number - first].attempts.append(attempt)
  }
}
