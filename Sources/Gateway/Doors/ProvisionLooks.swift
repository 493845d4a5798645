import Domain
import EventLoop
import Observability
import Service

/// What runs beside the requests of doors while Apple is away. The jobs that are looked at are counted, so that a long
/// outage does not fill the gateway's memory.
@LoopActor
final class ProvisionLooks: RoleService {
  /// The most jobs at a time. Each keeps a few kilobytes of evidence.
  nonisolated static let most = 10_000

  private var limit = PublisherLimit(most: most)
  private let counter: Counter
  private let running = RunningTasks()
  private let stopping = LoopSignal()

  /// - Parameter counter: counts grants, and requests that are not looked at.
  init(_ counter: Counter) { self.counter = counter }

  /// Does nothing: the requests of doors begin the looks.
  func start() {}

  /// Does nothing: a request that waits still may need its look.
  func close() {}

  /// Ends all pauses, and waits for the looks that run. Their customers get access when Apple is back.
  func stop(within grace: Duration) async {
    running.close()
    stopping.notify()
    await running.finish(within: grace)
  }

  /// Lets somebody look at a request's jobs, beside the request. If they do not fit, their customers wait for Apple.
  func begin(_ jobs: Int, of publisher: PublisherId, _ look: @escaping @LoopActor () async -> Void) {
    guard !running.isClosed else { return }
    guard limit.begin(jobs, of: publisher) else { return counter.count(GatewayMetrics.notLookedAt) }
    running.start { [self] in
      await look()
      limit.end(jobs, of: publisher)
    }
  }

  /// Runs something beside a request, and ends it before the gateway's clients close.
  func beside(_ work: @escaping @LoopActor () async -> Void) {
    if !running.isClosed { running.start(work) }
  }

  /// Waits before a look.
  ///
  /// - Returns: whether the look makes sense; not when the gateway stops.
  func pause(_ time: Duration) async -> Bool {
    if time > .zero, !running.isClosed { await stopping.wait(atMost: time) }
    return !running.isClosed
  }

  /// How many looks run.
  var count: Int { running.count }

  /// Counts a grant.
  func noteGrant() { counter.count(GatewayMetrics.granted) }
}
