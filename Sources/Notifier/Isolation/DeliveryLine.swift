import EventLoop

/// Deliveries that wait for their turn, in the order in which they came.
@LoopActor
final class DeliveryLine {
  /// In the order of their numbers, which only grow: a binary search finds each.
  private var waiting: [(number: Int, turn: LoopSignal)] = []
  private var next = 0

  /// How many wait.
  var count: Int { waiting.count }

  /// Adds a delivery at the end.
  ///
  /// - Returns: its number in the line.
  func join(_ turn: LoopSignal) -> Int {
    next += 1
    waiting.append((next, turn))
    return next
  }

  /// Returns how many come before a number, or before a delivery that is not in the line yet.
  func ahead(of number: Int?) -> Int { number.map(place) ?? waiting.count }

  /// Removes a delivery.
  func leave(_ number: Int) {
    let place = place(number)
    if place < waiting.count, waiting[place].number == number { waiting.remove(at: place) }
  }

  /// Wakes the first deliveries; each stays in the line until it leaves by itself.
  func wake(_ count: Int) {
    for (_, turn) in waiting.prefix(max(0, count)) { turn.notify() }
  }

  /// The place of the first whose number is not less.
  private func place(_ number: Int) -> Int {
    var (low, high) = (0, waiting.count)
    while low < high {
      let middle = (low + high) / 2
      if waiting[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
