import EventLoop

/// Those who wait for their turn, the first to come first.
@LoopActor
final class WaitingLine {
  /// By their numbers, which only grow: whoever is looked for is found without asking all.
  private var waiting: [(number: Int, turn: LoopSignal)] = []
  private var next = 0

  /// How many wait.
  var count: Int { waiting.count }

  /// Puts somebody at the end.
  ///
  /// - Returns: its number in the line.
  func join(_ turn: LoopSignal) -> Int {
    next += 1
    waiting.append((next, turn))
    return next
  }

  /// Returns how many come before a number, or before somebody who is not in the line yet.
  func ahead(of number: Int?) -> Int { number.map(place) ?? waiting.count }

  /// Takes somebody out.
  func leave(_ number: Int) {
    let place = place(number)
    if place < waiting.count, waiting[place].number == number { waiting.remove(at: place) }
  }

  /// Wakes the first so many; they stay in the line until they leave it.
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
