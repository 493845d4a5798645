public import Domain

/// An open synchronization that is due: a sweep enqueues its job again.
public struct DueJob: Sendable, Equatable {
  public let job: Job
  /// Its next run. Once a message of this run has arrived, messages of earlier numbered runs are dropped.
  public let run: Int64
  /// Whether a person asked for it (`countersign jobs retry`), so that nothing was lost.
  public let isHurried: Bool

  /// Creates a value.
  public init(_ job: Job, run: Int64 = 1, isHurried: Bool = false) {
    (self.job, self.run, self.isHurried) = (job, run, isHurried)
  }
}
