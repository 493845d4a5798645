import EventLoop

/// The jobs that may have killed a worker, run one at a time.
///
/// A job that crashes its worker takes all that run beside it along, and each of them looks as guilty as it does. Run one
/// at a time, the innocent ones finish, until the guilty one is given up (decision 0010).
@LoopActor
final class Suspects {
  /// From so many crashes in a row on a job is run so; a first one may have any cause.
  static let aloneFrom = 2
  /// From so many on it is given up.
  static let givenUpFrom = 6

  private var isBusy = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// Waits until no other suspect runs in this worker.
  func enter() async {
    guard isBusy else {
      isBusy = true
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  /// Lets the next one run.
  func leave() {
    guard !waiting.isEmpty else {
      isBusy = false
      return
    }
    waiting.removeFirst().resume()
  }
}
