import EventLoop
import Formats
import Ledger
import Observability

/// The numbers of what subscribers are owed.
@LoopActor
final class OwedEventMetrics {
  let givenUp: Counter
  private let waiting: Gauge
  private let oldest: Gauge

  /// - Parameter names: the subscribers of the configuration.
  init(_ metrics: Metrics, _ names: [String]) {
    waiting = metrics.gauge(
      "countersign_subscriber_owed_events", "Events that the ledger owes a subscriber.", labels: ["subscriber"])
    oldest = metrics.gauge(
      "countersign_subscriber_oldest_owed_seconds",
      "How long a subscriber has missed the oldest owed event.",
      labels: ["subscriber"])
    givenUp = metrics.counter(
      "countersign_subscriber_events_given_up_total", "Events that a subscriber missed for too long, and will not get.",
      labels: ["subscriber"], known: names.map { [$0] })
    for name in names {
      waiting.set(0, name)
      oldest.set(0, name)
    }
  }

  /// Takes what the ledger knows.
  func note(_ debt: OwedEvents.Debt, now: Int64) {
    waiting.set(Double(debt.count), debt.subscriber)
    oldest.set(debt.oldest.map { Double(max(0, now.subtracting($0))) / 1000 } ?? 0, debt.subscriber)
  }
}
