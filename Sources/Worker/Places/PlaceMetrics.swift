import EventLoop
import Observability

/// The two numbers by which a fleet of workers grows and shrinks: how many places a worker has, and how many are taken.
///
/// For example, 266 of 266 places are taken: another worker helps. A thousand jobs wait because Apple has answered 429:
/// they are in the line and hold no place, so both numbers say that no worker is missing. The length of a queue would
/// say the opposite.
@LoopActor
enum PlaceMetrics {
  /// Registers the gauges of a worker's places.
  static func register(_ places: JobPlaces, in metrics: Metrics) {
    metrics.gauge("countersign_job_slots", "Places of the worker: the jobs that may run at once.") {
      Double(places.shares.all.places)
    }
    metrics.gauge(
      "countersign_jobs_in_flight", "Places that jobs hold now."
    ) {
      Double(places.shares.all.count)
    }
  }
}
