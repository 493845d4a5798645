import Domain
import EventLoop
import Formats
import Observability

/// The numbers of requests for refunds.
@LoopActor
final class RefundMetrics {
  let ended: Counter
  let failures: Counter
  private var count = 0
  private var deadline: Int64?

  /// - Parameter now: tells milliseconds since 1970.
  init(_ metrics: Metrics, now: @escaping @Sendable () -> Int64) {
    ended = metrics.counter(
      "countersign_refund_requests_ended_total", "Requests for refunds that workers ended.", labels: ["outcome"],
      known: [RefundRequest.State.answered, .refused, .expired].map { [$0.rawValue] })
    failures = metrics.counter(
      "countersign_refund_answer_failures_total", "Failed calls that sent an answer about a refund to Apple.")
    metrics.gauge(
      "countersign_refund_requests_pending",
      "Requests for refunds that have not ended, and that Apple has no answer to yet."
    ) {
      [weak self] in Double(self?.count ?? 0)
    }
    metrics.gauge(
      "countersign_refund_deadline_seconds", "Time to the nearest deadline of a request for a refund."
    ) { [weak self] in
      let left = self?.deadline.map { $0.subtracting(now()) } ?? RefundRequest.patience
      return Double(max(0, left)) / 1000
    }
  }

  /// Takes what the ledger knows. Without a pending request there are all of Apple's twelve hours.
  func note(_ backlog: (count: Int, deadline: Int64?)) { (count, deadline) = (backlog.count, backlog.deadline) }
}
