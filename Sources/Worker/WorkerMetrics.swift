import AppStore
import Domain
import EventLoop
import Ledger
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
  let imported: Counter
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
  let commitWait: Histogram
  let commitFailures: Counter
  let analyzed: Counter
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
    imported = metrics.counter(
      "countersign_imported_rows_total", "Finalized rows of imports by result.", labels: ["result"],
      known: ResultCode.known.map { [$0.rawValue] })
    retries = metrics.counter(
      "countersign_job_retries_total", "Jobs that went to a delay queue.", labels: ["cause"],
      known: RetryCause.allCases.map { [$0.rawValue] })
    dead = metrics.counter("countersign_dead_jobs_total", "Messages that went to the dead queue of jobs.")
    rejections = metrics.counter(
      "countersign_rejections_total", "Signed data that the worker did not accept.", labels: ["reason"],
      known: (Rejection.Reason.known.map(\.rawValue) + [Self.answerMismatch]).map { [$0] })
    budgetWaits = metrics.counter(
      "countersign_budget_waits_total", "How often a job had to wait in the line for a call to Apple.")
    events = metrics.counter("countersign_events_published_total", "Events that the notifiers' queue has taken.")
    stale = metrics.counter(
      "countersign_stale_runs_total", "Runs without effect, because their lease had expired.")
    swept = metrics.counter(
      "countersign_swept_jobs_total", "Jobs that the sweep enqueued again, because no queue seemed to hold them.")
    hurried = metrics.counter(
      "countersign_hurried_jobs_total", "Jobs that ran at once because an operator asked for it.")
    superseded = metrics.counter(
      "countersign_superseded_jobs_total",
      "Messages that the worker dropped, because a later message of the same job had come.")
    deletedNotifications = metrics.counter(
      "countersign_notifications_deleted_total",
      "Notifications that were deleted from the ledger because of their age.")
    putAside = metrics.gauge(
      "countersign_notifications_put_aside", "Notifications that are put aside now.")
    deadMessages = metrics.gauge(
      "countersign_dead_messages", "Messages in the dead queue of the role.", labels: ["queue"])
    covered = metrics.counter(
      "countersign_covered_runs_total", "Jobs that needed no call, because a verified answer was only moments old.")
    redeliveries = metrics.counter(
      "countersign_redeliveries_total", "Messages that the broker marked as redelivered.")
    commits = metrics.histogram(
      "countersign_commit_synchronizations", "Synchronizations that one commit of the ledger finalizes.",
      buckets: [1, 2, 5, 10, 25, 50, 100, 200])
    commitWait = metrics.histogram(
      "countersign_commit_wait_seconds", "Time from a result until its commit begins.", labels: ["work"],
      known: CommitKind.allCases.map { [$0.rawValue] })
    commitFailures = metrics.counter(
      "countersign_commit_failures_total", "Failed commits of the ledger.")
    analyzed = metrics.counter(
      "countersign_analyzed_tables_total",
      "Tables of the ledger that had grown much, so that PostgreSQL was asked to analyze them.")
    outbox = metrics.counter(
      "countersign_outbox_events_total",
      "Events that a worker found unpublished in the outbox, and published.")
  }
}
