import EventLoop

/// A line for work that takes what others need too: threads of the pool, or connections to the ledger.
@LoopActor
final class ConsoleLine {
  private var turns: ConsoleTurns
  private var next = 0
  private var waiters: [Int: CheckedContinuation<Void, Never>] = [:]

  init(_ limits: ConsoleTurns.Limits) { turns = ConsoleTurns(limits) }

  /// Whether somebody who comes now is not refused.
  func hasRoom(for owner: String) -> Bool { turns.hasRoom(for: owner) }

  /// Does work when it is its turn.
  ///
  /// - Returns: `nil` if the line is full.
  func run<Value>(of owner: String, _ work: @LoopActor () async throws -> Value) async rethrows -> Value? {
    let id = next
    next += 1
    switch turns.add(id, of: owner) {
    case .works: break
    // The one before it wakes it, whatever becomes of its work.
    case .waits: await withCheckedContinuation { waiters[id] = $0 }
    case .refused: return nil
    }
    defer { if let next = turns.end(id) { waiters.removeValue(forKey: next)?.resume() } }
    return try await work()
  }
}
