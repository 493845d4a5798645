import AppStore
import Domain
import EventLoop
import Observability
import Service

/// The numbers that a worker counts.
@LoopActor
final class WorkerMetrics {
  /// The label of signed data that is in order, but does not answer the question.
  static let answerMismatch = "answer_mismatch"

  let queueWait: Histogram
  let age: Histogram
  let deliveries: Histogram
  let appleCalls: Histogram
  let results: Counter
  let retries: Counter
  let dead: Counter
  let rejections: Counter
  let budgetWaits: Counter
  let events: Counter
  let stale: Counter
  let swept: Counter
  let hurried: Counter
  let superseded: Counter
  let deletedNotifications: Counter
  let putAside: Gauge
  let deadMessages: Gauge
  let covered: Counter
  let redeliveries: Counter
  let commits: Histogram
  let commitFailures: Counter
  let outbox: Counter

  init(_ metrics: Metrics) {
    queueWait = metrics.histogram(
      "countersign_job_queue_wait_seconds", "Time from registration to the first attempt.",
      buckets: Histogram.ageBuckets)
    age = metrics.histogram(
      "countersign_synchronization_age_seconds", "Time from registration to the published event.",
      buckets: Histogram.ageBuckets)
    deliveries = metrics.histogram(
      "countersign_job_deliveries", "How often the broker delivered a job until its synchronization was finalized.",
      buckets: [1, 2, 3, 4, 5, 7, 10, 20, 50, 100])
    appleCalls = metrics.histogram(
      "countersign_apple_call_duration_seconds", "Calls to Apple.", labels: ["endpoint", "environment", "outcome"],
      // Failed calls count as causes of retries, too, and those series exist from the start.
      known: PurchaseVerification.endpoints.map(\.rawValue).flatMap { endpoint in
        [Environment.production, .sandbox].map { [endpoint, $0.text, "ok"] }
      })
    results = metrics.counter(
      "countersign_results_total", "Finalized synchronizations by result.", labels: ["result"],
      known: ResultCode.known.map { [$0.rawValue] })
    retries = metrics.counter(
      "countersign_job_retries_total", "Jobs put into a delay queue.", labels: ["cause"],
      known: RetryCause.allCases.map { [$0.rawValue] })
    dead = metrics.counter("countersign_dead_jobs_total", "Deliveries put into the dead-letter queue.")
    rejections = metrics.counter(
      "countersign_rejections_total", "Signed data that was not accepted.", labels: ["reason"],
      known: (Rejection.Reason.known.map(\.rawValue) + [Self.answerMismatch]).map { [$0] })
    budgetWaits = metrics.counter(
      "countersign_budget_waits_total", "Calls put off because the budget was used up or Apple had forbidden more.")
    events = metrics.counter("countersign_events_published_total", "Events that the fleet's own queue has.")
    stale = metrics.counter(
      "countersign_stale_runs_total", "Runs without effect, because their lease had ended.")
    swept = metrics.counter("countersign_swept_jobs_total", "Jobs enqueued again by the sweep.")
    hurried = metrics.counter("countersign_hurried_jobs_total", "Jobs enqueued because a person asked for it.")
    superseded = metrics.counter(
      "countersign_superseded_jobs_total", "Messages dropped, because a later one of the same job had come.")
    deletedNotifications = metrics.counter(
      "countersign_notifications_deleted_total", "Notifications that were old enough for the ledger to forget them.")
    putAside = metrics.gauge(
      "countersign_notifications_put_aside", "Notifications that wait for a person, since workers died of them.")
    deadMessages = metrics.gauge(
      "countersign_dead_messages", "Messages in the role's queue of the dead.", labels: ["queue"])
    covered = metrics.counter(
      "countersign_covered_runs_total", "Runs that needed no call, because a verified answer was a moment old.")
    redeliveries = metrics.counter(
      "countersign_redeliveries_total", "Deliveries that the broker marked as given out before.")
    commits = metrics.histogram(
      "countersign_commit_synchronizations", "Synchronizations that one commit of the ledger finalizes.",
      buckets: [1, 2, 5, 10, 25, 50, 100, 200])
    commitFailures = metrics.counter(
      "countersign_commit_failures_total", "Commits of the ledger that failed and ran again, or ended one by one.")
    outbox = metrics.counter(
      "countersign_outbox_events_total",
      "Events that a sweep took out of the outbox, because nobody had published them.")
  }
}
