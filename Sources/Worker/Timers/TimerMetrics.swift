import Domain
import EventLoop
import Formats
import Observability

/// The numbers of the timers.
@LoopActor
final class TimerMetrics {
  let looks: Counter
  let lag: Histogram
  /// The due time of the oldest timer that nobody has taken, in milliseconds since 1970.
  private var oldest: Int64?

  /// - Parameters:
  ///   - now: tells milliseconds since 1970.
  ///   - running: tells how many looks run.
  init(_ metrics: Metrics, now: @escaping @Sendable () -> Int64, running: @escaping @LoopActor () -> Double) {
    metrics.gauge("countersign_timer_looks_running", "Looks at purchases that run now.", read: running)
    looks = metrics.counter(
      "countersign_timer_looks_total", "Looks at purchases whose timers were due.", labels: ["outcome"],
      known: (["told", "own", "unknown", "rejected", "no_app"] + RetryCause.allCases.map(\.rawValue)).map { [$0] })
    lag = metrics.histogram(
      "countersign_timer_lag_seconds", "Time from a timer's due time to its look.", buckets: Histogram.ageBuckets)
    metrics.gauge(
      "countersign_timer_backlog_seconds", "How long the oldest due timer has waited for a look."
    ) { [weak self] in
      self?.oldest.map { Double(max(0, now().subtracting($0))) / 1000 } ?? 0
    }
  }

  /// Takes what the ledger knows.
  func note(oldest: Int64?) { self.oldest = oldest }
}
