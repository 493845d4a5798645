import EventLoop
import Observability

/// The numbers of the timers.
@LoopActor
struct TimerMetrics {
  let looks: Counter
  let lag: Histogram

  init(_ metrics: Metrics, running: @escaping @LoopActor () -> Double) {
    metrics.gauge("countersign_timer_looks_running", "Looks at purchases that run now.", read: running)
    looks = metrics.counter(
      "countersign_timer_looks_total", "Looks at purchases whose timers were due.", labels: ["outcome"],
      known: [["told"], ["own"], ["unknown"], ["rejected"], ["no_app"], ["budget"], ["store_unavailable"]])
    lag = metrics.histogram(
      "countersign_timer_lag_seconds", "Time from a timer's due time to its look.", buckets: Histogram.ageBuckets)
  }
}
