import Domain
import EventLoop
import Messaging
import Observability

/// The reason why a message goes to the queue of the dead.
enum BurialReason: String, CaseIterable {
  /// The message is not an event.
  case malformed
  /// The event's endpoint was deleted.
  case endpointGone = "endpoint_gone"
  /// Every attempt failed, or the endpoint answered 410.
  case abandoned
  /// The event's publisher was in no file for as long as attempts last.
  case publisherUnknown = "publisher_unknown"
  /// Notifiers died while they had it, one after the other.
  case crashed
}

extension DeadCause {
  /// The same reason, as the message in the queue of the dead tells it.
  init(_ reason: BurialReason) {
    switch reason {
    case .malformed: self = .malformed
    case .endpointGone: self = .endpointGone
    case .abandoned: self = .abandoned
    case .publisherUnknown: self = .publisherUnknown
    case .crashed: self = .crashed
    }
  }
}

/// The metrics of a notifier.
@LoopActor
final class NotifierMetrics {
  let attempts: Counter
  let publisherAttempts: PublisherCounter
  let forwards: Counter
  let duration: Histogram
  let firstAttemptDelay: Histogram
  let endpointWait: Histogram
  let putOff: Counter
  let unreadableSecrets: Counter
  let disabled: Counter
  let swept: Counter
  let lost: Counter
  let dead: Counter
  let deadMessages: Gauge
  let redeliveries: Counter

  /// A notification for a URL that the publisher's file does not name any more for its environment, or a notification
  /// that the ledger does not have any more.
  static let dropped = "dropped"

  init(
    _ metrics: Metrics, inFlight: @escaping @LoopActor () -> Double, waiting: @escaping @LoopActor () -> Double,
    rests: @escaping @LoopActor () -> Double, unrecorded: @escaping @LoopActor () -> Double
  ) {
    metrics.gauge("countersign_deliveries_in_flight", "Events that the notifier is delivering now.", read: inFlight)
    metrics.gauge(
      "countersign_deliveries_waiting",
      "Events that the notifier holds until it is their publisher's turn.", read: waiting)
    metrics.counter(
      "countersign_delivery_rests_total",
      "Rests of bursts in the notifier, while another publisher has few events.", read: rests)
    metrics.gauge(
      "countersign_webhook_records_waiting", "Results of attempts that the ledger does not have yet.", read: unrecorded)
    attempts = metrics.counter(
      "countersign_webhook_attempts_total", "Attempts to deliver webhooks.", labels: ["outcome"],
      known: DeliveryAttempt.Result.allCases.map { [$0.rawValue] })
    publisherAttempts = metrics.publisherCounter(
      "countersign_publisher_webhook_attempts_total", "Attempts to deliver webhooks of the publisher.")
    forwards = metrics.counter(
      "countersign_notification_forwards_total", "Attempts to forward Apple's notifications.",
      labels: ["outcome"],
      known: DeliveryAttempt.Result.allCases.filter { $0 != .skipped }.map { [$0.rawValue] } + [[Self.dropped]])
    duration = metrics.histogram("countersign_webhook_attempt_duration_seconds", "Time of one attempt.")
    firstAttemptDelay = metrics.histogram(
      "countersign_webhook_first_attempt_delay_seconds",
      "Time from an event to its first attempt, without delays that the endpoint caused.")
    endpointWait = metrics.histogram(
      "countersign_webhook_endpoint_wait_seconds",
      "How long the endpoint itself delayed a first attempt.",
      buckets: Histogram.ageBuckets)
    putOff = metrics.counter(
      "countersign_webhook_deliveries_put_off_total", "Deliveries that were postponed without an attempt.",
      labels: ["cause"], known: PutOffCause.allCases.map { [$0.rawValue] })
    unreadableSecrets = metrics.counter(
      "countersign_secrets_unreadable_total",
      "Deliveries that were postponed because the endpoint's secrets cannot be decrypted.",
      labels: ["cause"], known: WebhookEndpoint.SecretsDefect.Cause.allCases.map { [$0.rawValue] })
    disabled = metrics.counter(
      "countersign_webhook_endpoints_disabled_total", "Endpoints that the notifier disabled.", labels: ["reason"],
      known: EndpointHealth.Reason.allCases.map { [$0.rawValue] })
    swept = metrics.counter(
      "countersign_deliveries_enqueued_again_total", "Overdue deliveries that the notifier enqueued again.")
    lost = metrics.counter(
      "countersign_deliveries_dropped_total",
      "Overdue deliveries that were dropped, because the ledger no longer has their event.")
    dead = metrics.counter(
      "countersign_dead_deliveries_total", "Messages that went to the dead queue of deliveries.",
      labels: ["reason"], known: BurialReason.allCases.map { [$0.rawValue] })
    deadMessages = metrics.gauge(
      "countersign_dead_messages", "Messages in the dead queue of the role.", labels: ["queue"])
    redeliveries = metrics.counter(
      "countersign_redeliveries_total", "Messages that the broker marked as redelivered.")
  }
}
