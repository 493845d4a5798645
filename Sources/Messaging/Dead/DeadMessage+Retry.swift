public import AMQP
import Crypto
public import Domain
import Formats

/// What a retry does with one dead message.
extension DeadMessage {
  public enum Retry: Sendable {
    /// This message takes its place.
    case again(AMQPMessage)
    /// It stays where it is.
    case stays(Obstacle)
  }

  /// Why a retry would change nothing, or would lose the message.
  public enum Obstacle: String, Sendable, CaseIterable {
    /// The synchronization is finalized, or has become another registration's.
    case finalized
    /// It is no job, or no event, for this build.
    case unreadable
    /// Only a newer build can read the job.
    case newerFormat = "newer_format"
    /// Nobody brings a deleted endpoint back.
    case endpointGone = "endpoint_gone"
    /// A notifier would skip the delivery, and acknowledge it.
    case endpointDisabled = "endpoint_disabled"
  }

  /// Decides what a retry does.
  ///
  /// Attempts count from 1 again. A delivery to one endpoint begins a round that this message alone can begin. So if
  /// the same message is retried twice, its endpoint gets the event once.
  ///
  /// - Parameters:
  ///   - topology: names the queues of jobs.
  ///   - doors: those of this build.
  ///   - isDisabled: whether the endpoint of the delivery is disabled.
  ///   - queue: the queue for the next delivery of a publisher.
  public func retry(
    in topology: Topology, doors: DoorCatalog, isDisabled: Bool, queue: (PublisherId) -> String
  ) -> Retry {
    switch kind {
    case .jobs: retryJob(topology, doors)
    case .deliveries: retryDelivery(isDisabled, queue)
    }
  }

  private func retryJob(_ topology: Topology, _ doors: DoorCatalog) -> Retry {
    // A job that is given up is finalized in the same step. The others are found finalized, or are dropped.
    if cause == .crashed || cause == .superseded { return .stays(.finalized) }
    do throws(JobMessage.Unreadable) {
      let job = try JobMessage.read(delivery, doors: doors).job
      // The run stays: a job that a sweep has enqueued since is under way already, and drops this message.
      return .again(
        JobMessage.message(job, attempt: 1, queue: topology.jobs(job.lane), run: JobMessage.run(delivery)))
    } catch {
      switch error {
      case .malformed: return .stays(.unreadable)
      case .newer: return .stays(.newerFormat)
      }
    }
  }

  private func retryDelivery(_ isDisabled: Bool, _ queue: (PublisherId) -> String) -> Retry {
    if cause == .endpointGone { return .stays(.endpointGone) }
    guard var again = try? Delivery(delivery) else { return .stays(.unreadable) }
    if isDisabled { return .stays(.endpointDisabled) }
    if let endpoint = again.endpointId {
      // The ledger's log has the end of the last round. Only a new one is attempted.
      let parts = [again.eventId.text, endpoint.text, again.round.text, String(again.attempt)].lengthPrefixed
      again.round = DeliveryRound("retry-" + Hex.encode(SHA256.hash(Array(parts.utf8))[..<16]))
    }
    (again.attempt, again.parks, again.misses, again.crashes) = (1, 0, 0, 0)
    (again.waited, again.due, again.isPlanned) = (0, nil, false)
    return .again(again.message(queue: queue(again.publisherId)))
  }
}
