import EventLoop

/// Lets a job that may have killed its worker run alone.
///
/// A job that crashes its worker takes all that run beside it along, and each of them looks as guilty as it does. Run
/// alone, the innocent ones finish, and the guilty one harms nobody until it is given up (decision 0010).
@LoopActor
final class Suspects {
  /// From so many crashes in a row on a job is run alone; a first one may have any cause.
  static let aloneFrom = 2
  /// From so many on it is given up.
  static let givenUpFrom = 6

  /// Whether a suspect runs, or waits for the others to end.
  private var isReserved = false
  private var running = 0
  private var ordinary: [CheckedContinuation<Void, Never>] = []
  private var suspect: CheckedContinuation<Void, Never>?

  /// Counts as an ordinary run from now on; false while a suspect runs, or waits to.
  func enterAtOnce() -> Bool {
    guard !isReserved else { return false }
    running += 1
    return true
  }

  /// Waits until no suspect runs, and counts as an ordinary run from then on.
  func enter() async {
    while isReserved { await withCheckedContinuation { ordinary.append($0) } }
    running += 1
  }

  /// Ends an ordinary run.
  func leave() {
    running -= 1
    guard running == 0 else { return }
    suspect?.resume()
    suspect = nil
  }

  /// Waits until nobody else runs, and keeps others from beginning.
  ///
  /// - Returns: false when another suspect was first: a second one must not wait here, where it would take the place of a
  ///   job that can run.
  func enterAlone() async -> Bool {
    guard !isReserved else { return false }
    isReserved = true
    if running > 0 { await withCheckedContinuation { suspect = $0 } }
    return true
  }

  /// Lets the others run again.
  func leaveAlone() {
    isReserved = false
    let waiting = ordinary
    ordinary = []
    for one in waiting { one.resume() }
  }
}
