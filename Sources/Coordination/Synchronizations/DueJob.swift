public import Domain

/// An open synchronization that is due: a sweep enqueues its job again.
public struct DueJob: Sendable, Equatable {
  public let job: Job
  /// Its next run. Once a message of this run has arrived, messages of earlier numbered runs are dropped.
  public let run: Int64
  /// Whether a person asked for it (`countersign jobs retry`), so that nothing was lost.
  public let isHurried: Bool
  /// Whether a worker had it from the line for calls and did not end it. Its copy at the broker may come much later.
  public let isOutOfLine: Bool

  /// What a record says in `held` of a synchronization that the line gave to a worker.
  static let outOfLine = 2

  /// Creates a value.
  public init(_ job: Job, run: Int64 = 1, isHurried: Bool = false, isOutOfLine: Bool = false) {
    (self.job, self.run, self.isHurried, self.isOutOfLine) = (job, run, isHurried, isOutOfLine)
  }
}
