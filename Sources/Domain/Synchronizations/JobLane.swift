/// The lane in which a job goes through the fleet.
public enum JobLane: String, Sendable, CaseIterable {
  /// Somebody waits for the job.
  case usual
  /// Nobody waits, and there may be very many of them, as in an import. They yield to everything else.
  case bulk
}
