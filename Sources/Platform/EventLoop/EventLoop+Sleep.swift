extension EventLoop {
  /// Waits on the loop's own timer. `Task.sleep` would wait on another thread and come back through a hop.
  ///
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  @LoopActor
  public static func sleep(for duration: Duration) async throws {
    let sleep = LoopSleep()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { sleep.start(duration, $0) }
    } onCancel: {
      Task { @LoopActor in sleep.end(.failure(CancellationError())) }
    }
  }
}

/// One wait. Its timer or a cancellation ends it, depending on which comes first.
@LoopActor
private final class LoopSleep {
  private var timer: LoopTimer?
  private var continuation: CheckedContinuation<Void, any Error>?

  func start(_ duration: Duration, _ continuation: CheckedContinuation<Void, any Error>) {
    guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
    self.continuation = continuation
    let timer = LoopTimer { [weak self] in self?.end(.success(())) }
    timer.start(after: duration)
    self.timer = timer
  }

  func end(_ result: Result<Void, any Error>) {
    timer?.close()
    timer = nil
    continuation?.resume(with: result)
    continuation = nil
  }
}
