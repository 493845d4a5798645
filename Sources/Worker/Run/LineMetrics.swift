import Domain
import EventLoop
import Observability

/// What a worker tells of the line for Apple's calls.
@LoopActor
final class LineMetrics {
  let jobs: Gauge
  let wait: Histogram

  init(_ metrics: Metrics) {
    jobs = metrics.gauge(
      "countersign_line_jobs", "Jobs of the whole fleet in the line for a call to Apple.", labels: ["lane"])
    for lane in JobLane.allCases { jobs.set(0, lane.rawValue) }
    wait = metrics.histogram(
      "countersign_line_wait_seconds", "How long each job was in the line for a call to Apple.",
      buckets: Histogram.ageBuckets)
  }
}
