import EventLoop
import HTTPServer
import Observability

/// The line of texts that threads of the pool read, few at a time. ``EvidenceTurns`` says whose turn it is.
@LoopActor
final class EvidenceLine {
  private var turns: EvidenceTurns
  private var next = 0
  /// The texts that wait, each until it is its turn (`true`) or it has given way (`false`).
  private var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
  private let refused: Counter

  init(_ limits: EvidenceTurns.Limits, _ metrics: Metrics) {
    turns = EvidenceTurns(limits)
    refused = metrics.counter(
      "countersign_evidence_refused_total",
      "Receipts and other long texts that a door refused, because too many were waiting.",
      labels: ["cause"], known: EvidenceTurns.Refusal.allCases.map { [$0.rawValue] })
    metrics.gauge(
      "countersign_evidence_waiting", "Receipts and other long texts of doors that wait for a thread that reads them."
    ) { [weak self] in
      Double(self?.turns.waiting ?? 0)
    }
  }

  /// Does work on a thread of the pool, when it is this text's turn.
  ///
  /// - Parameter bytes: of the text.
  /// - Returns: `nil` if the text has no place in the line, or no thread.
  func read<Value: Sendable>(
    _ bytes: Int, of source: EvidenceTurns.Source, _ work: @escaping @Sendable () -> Value
  ) async -> Value? {
    let id = next
    next += 1
    switch turns.add(id, bytes: bytes, of: source) {
    case .reads: break
    case .waits(let others):
      for other in others {
        refused.count(EvidenceTurns.Refusal.gaveWay.rawValue)
        wake(other, isItsTurn: false)
      }
      guard await withCheckedContinuation({ waiters[id] = $0 }) else { return nil }
    case .refused(let cause):
      refused.count(cause.rawValue)
      return nil
    }
    defer { if let next = turns.end(id) { wake(next, isItsTurn: true) } }
    return try? await EventLoop.offload(work)
  }

  /// A waiter leaves the list before it is resumed, so each is resumed once.
  private func wake(_ id: Int, isItsTurn: Bool) { waiters.removeValue(forKey: id)?.resume(returning: isItsTurn) }
}
