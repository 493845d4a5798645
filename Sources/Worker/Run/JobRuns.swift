import AMQP
import EventLoop
import Observability
import Service

/// The jobs in hand: each delivery becomes a run, and all runs end before the worker does.
@LoopActor
final class JobRuns: RoleService {
  private let dependencies: JobRun.Dependencies
  private let running: RunningTasks
  private let isLedgerReady: @LoopActor () -> Bool
  private let giveUpCommits: @LoopActor () -> Void

  /// - Parameters:
  ///   - running: has the tasks of the runs.
  ///   - isLedgerReady: whether commits can end.
  ///   - giveUpCommits: lets every commit fail that waits for the ledger.
  init(
    _ dependencies: JobRun.Dependencies, _ running: RunningTasks, isLedgerReady: @escaping @LoopActor () -> Bool,
    giveUpCommits: @escaping @LoopActor () -> Void
  ) {
    (self.dependencies, self.running) = (dependencies, running)
    (self.isLedgerReady, self.giveUpCommits) = (isLedgerReady, giveUpCommits)
  }

  /// Begins the run of a delivery, also of one that comes while the consumer is being cancelled: otherwise the broker
  /// gives it to another worker.
  func take(_ received: AMQPConsumer.Received) {
    if received.delivery.isRedelivered {
      dependencies.metrics.redeliveries.count()
      dependencies.log.info(
        "delivered again", ["messageId": .string(received.delivery.properties.messageID ?? "")])
    }
    running.start { [dependencies] in await JobRun.work(on: received, with: dependencies) }
  }

  /// Does nothing: the consumer starts the runs.
  func start() {}

  func close() { running.close() }

  /// Finishes the runs, and hands back the ones that take longer.
  func stop(within grace: Duration) async {
    close()
    // Without the ledger nothing can be finished: the jobs go back to the broker.
    if !isLedgerReady() { giveUpCommits() }
    let cancelled = await running.finish(within: grace)
    if cancelled > 0 {
      dependencies.log.warning("the grace period was too short", ["cancelled": .int(Int64(cancelled))])
    }
  }

  /// Whether the worker takes jobs until further notice.
  var readiness: [ReadinessCheck] { [ReadinessCheck("not stopping") { [running] in !running.isClosed }] }
}
