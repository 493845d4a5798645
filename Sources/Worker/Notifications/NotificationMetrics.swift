import EventLoop
import Observability

/// The numbers of applied notifications.
@LoopActor
final class NotificationMetrics {
  let putAside: Counter
  let applied: Counter
  let unknown: Counter
  let delay: Histogram

  init(_ metrics: Metrics) {
    putAside = metrics.counter(
      "countersign_notifications_put_aside_total",
      "Notifications that this worker put aside, because workers died while they worked on them.")
    applied = metrics.counter(
      "countersign_notifications_applied_total", "Notifications that the worker handled.", labels: ["outcome"],
      known: [["told"], ["silent"], ["stored"], ["refused"]])
    unknown = metrics.counter(
      "countersign_unknown_notifications_total", "Notifications of a type or subtype that this version does not know.")
    delay = metrics.histogram(
      "countersign_notification_delay_seconds", "Time from Apple's signature to the commit.",
      buckets: Histogram.ageBuckets)
  }
}
