import AMQP
import Coordination
import Domain
import EventLoop
import Messaging
import Observability
import Service

/// A job out of the line, in the form of a delivery. Its message is the copy that stays at the broker.
@LoopActor
final class LineDelivery: JobDelivery {
  let delivery: AMQPDelivery
  var hasCopy: Bool { true }
  private let awaited: AwaitedJob
  private let line: LineRuns.Dependencies
  private let running: RunningTasks

  /// - Parameter running: has the tasks of all runs of jobs.
  init(_ awaited: AwaitedJob, _ line: LineRuns.Dependencies, _ running: RunningTasks) {
    (self.awaited, self.line, self.running) = (awaited, line, running)
    delivery = AMQPDelivery(of: Self.message(awaited, line))
  }

  private static func message(_ awaited: AwaitedJob, _ line: LineRuns.Dependencies) -> AMQPMessage {
    let queue = line.topology.jobs(awaited.job.lane)
    return JobMessage.message(
      awaited.job, attempt: awaited.attempt, queue: queue, copy: awaited.copy, run: awaited.run)
  }

  /// Does nothing: there is no message in hand.
  func acknowledge() {}

  /// Gives the job to another worker at once. The copy would come back later, so one try is enough: the worker may be
  /// about to stop.
  func requeue() {
    running.startNow { [self] in await put(with: line.publishOnce) }
  }

  func requeueLater() async { await put(with: line.publish) }

  private func put(with publish: @LoopActor (AMQPMessage) async throws -> Void) async {
    do {
      try await publish(Self.message(awaited, line))
    } catch {
      line.log.warning("a job waits for its copy", ["cause": .failure(error)])
    }
  }
}
