public import Domain

/// An open synchronization, as a person sees it who looks for jobs that wait.
public struct OpenJob: Sendable, Equatable {
  public let job: Job
  public let status: Synchronization.Status
  /// Why it is retrying.
  public let cause: RetryCause?
  /// The place where Apple knows the transaction, as `bundleId|environment`, if a run has found out.
  public let place: PlaceName?
  /// Its name in the list of open synchronizations.
  public let member: String

  /// Creates a value.
  public init(job: Job, status: Synchronization.Status, cause: RetryCause?, place: PlaceName?, member: String) {
    (self.job, self.status, self.cause, self.place, self.member) = (job, status, cause, place, member)
  }

  /// All that is needed to find it again.
  public struct Name: Hashable, Sendable {
    public let lane: JobLane
    public let publisherId: PublisherId
    public let synchronizationId: SynchronizationId

    /// Creates a value.
    public init(lane: JobLane, publisherId: PublisherId, synchronizationId: SynchronizationId) {
      (self.lane, self.publisherId, self.synchronizationId) = (lane, publisherId, synchronizationId)
    }
  }

  /// All that is needed to find it again.
  public var name: Name {
    Name(lane: job.lane, publisherId: job.publisherId, synchronizationId: job.synchronizationId)
  }
}
