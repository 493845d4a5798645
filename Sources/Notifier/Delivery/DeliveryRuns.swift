import AMQP
import EventLoop
import Observability
import Service

/// The deliveries in hand: each message becomes a run, and all runs end before the notifier does.
@LoopActor
final class DeliveryRuns: RoleService {
  private let dependencies: DeliveryRun.Dependencies
  private let running: RunningTasks

  /// - Parameter running: has the tasks of the runs.
  init(_ dependencies: DeliveryRun.Dependencies, _ running: RunningTasks) {
    (self.dependencies, self.running) = (dependencies, running)
  }

  /// Begins the run of a message, also of one that comes while the consumer is being cancelled: otherwise the broker
  /// gives it to another notifier.
  func take(_ received: AMQPConsumer.Received) {
    if received.delivery.isRedelivered {
      dependencies.metrics.redeliveries.count()
      dependencies.context.log.info(
        "delivered again", ["messageId": .string(received.delivery.properties.messageID ?? "")])
    }
    let run = DeliveryRun(received, with: dependencies)
    running.start { await run.run() }
  }

  /// Does nothing: the consumer starts the runs.
  func start() {}

  func close() { running.close() }

  /// Finishes the runs, and hands back those that take longer.
  func stop(within grace: Duration) async {
    close()
    await running.finish(within: grace)
  }

  /// Whether the notifier takes deliveries until further notice.
  var readiness: [ReadinessCheck] { [ReadinessCheck("not stopping") { [running] in !running.isClosed }] }
}
