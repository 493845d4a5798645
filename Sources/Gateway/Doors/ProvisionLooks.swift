import Domain
import EventLoop
import Observability

/// The jobs that a gateway looks at while Apple is away: counted, so that a long outage does not fill its memory.
@LoopActor
final class ProvisionLooks {
  /// The most jobs at a time. Each keeps a few kilobytes of evidence.
  nonisolated static let most = 10_000

  private var limit = PublisherLimit(most: most)
  private let counter: Counter

  /// - Parameter counter: counts grants, and requests that are not looked at.
  init(_ counter: Counter) { self.counter = counter }

  /// Begins to look at a request's jobs.
  ///
  /// - Returns: whether they fit. If not, their customers wait for Apple.
  func begin(_ jobs: Int, of publisher: PublisherId) -> Bool {
    guard limit.begin(jobs, of: publisher) else {
      counter.count(GatewayMetrics.notLookedAt)
      return false
    }
    return true
  }

  /// Ends what ``begin(_:of:)`` has begun.
  func end(_ jobs: Int, of publisher: PublisherId) { limit.end(jobs, of: publisher) }

  /// Counts a grant.
  func noteGrant() { counter.count(GatewayMetrics.granted) }
}
