/// Wakes the tasks that wait. It is for a state that others change, and that a task checks again after each waking.
@LoopActor
public final class LoopSignal {
  private var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
  private var next = 0

  /// Creates a signal without waiting tasks.
  public init() {}

  /// Wakes all tasks that wait now.
  public func notify() {
    let waiting = waiters
    waiters.removeAll()
    for waiter in waiting.values { waiter.resume() }
  }

  /// Waits for the next ``notify()``, the end of a time or the task's cancellation, whichever is first.
  public func wait(atMost limit: Duration) async {
    let number = next
    next += 1
    let timer = LoopTimer { [weak self] in self?.wake(number) }
    timer.start(after: limit)
    await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        if Task.isCancelled { waiter.resume() } else { waiters[number] = waiter }
      }
    } onCancel: {
      Task { @LoopActor in self.wake(number) }
    }
    timer.close()
  }

  private func wake(_ number: Int) { waiters.removeValue(forKey: number)?.resume() }
}
