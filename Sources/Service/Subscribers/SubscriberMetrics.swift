import EventLoop
import Observability

/// The numbers of the subscribers.
@LoopActor
final class SubscriberMetrics {
  let published: Counter
  let missed: Counter

  init(_ metrics: Metrics, _ names: [String]) {
    published = metrics.counter(
      "countersign_subscriber_events_total", "Events that the broker confirmed for a subscriber.",
      labels: ["subscriber"], known: names.map { [$0] })
    missed = metrics.counter(
      "countersign_subscriber_misses_total", "Attempts to publish that a subscriber's queues did not take.",
      labels: ["subscriber"], known: names.map { [$0] })
  }
}
