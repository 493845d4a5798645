/// What is due when: a binary heap, with the earliest time on top.
struct Agenda<Item: Sendable>: Sendable {
  private var entries: [(time: Int64, item: Item)] = []

  /// The earliest time.
  var next: Int64? { entries.first?.time }

  var count: Int { entries.count }

  mutating func add(_ item: Item, at time: Int64) {
    entries.append((time, item))
    var place = entries.count - 1
    while place > 0, entries[place].time < entries[(place - 1) / 2].time {
      entries.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  /// Removes the earliest item, if its time has come.
  mutating func take(at now: Int64) -> (time: Int64, item: Item)? {
    guard let first = entries.first, first.time <= now else { return nil }
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    var place = 0
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2] where child < entries.count {
        if entries[child].time < entries[least].time { least = child }
      }
      guard least != place else { return first }
      entries.swapAt(place, least)
      place = least
    }
  }

  mutating func removeAll() { entries = [] }
}
