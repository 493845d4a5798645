public import EventLoop

/// Sees how the first try of each connection of a role that starts ended. A refusal ends the start; what happens later
/// does not concern it, and is tried again.
@LoopActor
public final class StartWatch {
  private var waiting: Set<String> = []
  private var onRefusal: (@LoopActor (StartRefusal) -> Void)?
  private let progress = LoopSignal()

  init() {}

  /// Begins to watch.
  ///
  /// - Parameter onRefusal: called when a server refuses a connection for a reason that only a person can mend.
  public func begin(_ onRefusal: @escaping @LoopActor (StartRefusal) -> Void) { self.onRefusal = onRefusal }

  /// Waits until each connection has succeeded or failed once, and then stops watching.
  ///
  /// - Parameter patience: the longest wait. A server that does not answer must not hold up the start.
  public func end(within patience: Duration) async {
    let end = ContinuousClock.now + patience
    while !waiting.isEmpty, .now < end { await progress.wait(atMost: end - .now) }
    onRefusal = nil
  }

  func expect(_ connection: String) { waiting.insert(connection) }

  func connected(_ connection: String) { settle(connection) }

  func failed(_ connection: String, _ error: any Error) {
    if let onRefusal, let refusal = StartRefusal(error) { onRefusal(refusal) }
    settle(connection)
  }

  private func settle(_ connection: String) {
    if waiting.remove(connection) != nil { progress.notify() }
  }
}
