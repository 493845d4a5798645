import EventLoop
import Ledger
import Observability
import Postgres
import Service

/// The jobs in hand: each delivery becomes a run, and all runs end before the worker does.
@LoopActor
final class JobRuns: RoleService {
  private let dependencies: Dependencies
  private let running: RunningTasks

  /// What the runs need.
  struct Dependencies {
    /// Notes what is delivered again.
    let redeliveries: Redeliveries
    let log: Log
    /// Runs a job to its end, and settles its delivery.
    let work: @LoopActor (any JobDelivery) async -> Void
    /// Whether commits can end.
    let isLedgerReady: @LoopActor () -> Bool
    /// Lets every commit fail that waits for the ledger.
    let giveUpCommits: @LoopActor () -> Void
  }

  /// - Parameter running: has the tasks of the runs.
  init(_ dependencies: Dependencies, _ running: RunningTasks) {
    (self.dependencies, self.running) = (dependencies, running)
  }

  /// Begins the run of a delivery, also of one that comes while the consumer is being cancelled: otherwise the broker
  /// gives it to another worker.
  func take(_ received: any JobDelivery) {
    dependencies.redeliveries.note(received.delivery)
    running.start { [dependencies] in await dependencies.work(received) }
  }

  /// Does nothing: the consumer starts the runs.
  func start() {}

  func close() { running.close() }

  /// Finishes the runs, and hands back the ones that take longer.
  func stop(within grace: Duration) async {
    close()
    // Without the ledger nothing can be finished: the jobs go back to the broker.
    if !dependencies.isLedgerReady() { dependencies.giveUpCommits() }
    let cancelled = await running.finish(within: grace)
    if cancelled > 0 {
      dependencies.log.warning("the grace period was too short", ["cancelled": .int(Int64(cancelled))])
    }
  }

  /// Whether the worker takes jobs until further notice.
  var readiness: [ReadinessCheck] { [ReadinessCheck("not stopping") { [running] in !running.isClosed }] }
}

extension JobRuns.Dependencies {
  /// Takes those of a worker.
  @LoopActor
  init(_ parts: WorkerParts) {
    let (ledger, commits, jobs) = (parts.ledger, parts.commits, parts.jobs)
    self.init(
      redeliveries: Redeliveries(jobs.metrics.redeliveries, jobs.log), log: jobs.log,
      work: { await JobRun.work(on: $0, with: jobs) }, isLedgerReady: { ledger.postgres.isReady },
      giveUpCommits: { commits.stop() })
  }
}
