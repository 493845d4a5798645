import EventLoop
import Observability

/// What a notifier counts.
@LoopActor
final class NotifierMetrics {
  let attempts: Counter
  let duration: Histogram
  let dead: Counter
  let redeliveries: Counter

  init(_ metrics: Metrics, inFlight: @escaping @LoopActor () -> Double) {
    metrics.gauge("countersign_deliveries_in_flight", "Events that are being delivered now.", read: inFlight)
    attempts = metrics.counter(
      "countersign_webhook_attempts_total", "Attempts by what they came to.", labels: ["outcome"])
    duration = metrics.histogram("countersign_webhook_attempt_duration_seconds", "Time of one attempt.")
    dead = metrics.counter("countersign_dead_events_total", "Messages that are no events.")
    redeliveries = metrics.counter(
      "countersign_redeliveries_total", "Deliveries that the broker marked as given out before.")
  }
}
