import AMQP
import Coordination
import Domain
import EventLoop
import Messaging
import Observability

/// A job out of the line, in the form of a delivery. Its message is the copy that stays at the broker.
@LoopActor
final class LineDelivery: JobDelivery {
  let delivery: AMQPDelivery
  var hasCopy: Bool { true }
  private let awaited: AwaitedJob
  private let line: LineRuns.Dependencies

  init(_ awaited: AwaitedJob, _ line: LineRuns.Dependencies) {
    (self.awaited, self.line) = (awaited, line)
    delivery = AMQPDelivery(of: Self.message(awaited, line))
  }

  private static func message(_ awaited: AwaitedJob, _ line: LineRuns.Dependencies) -> AMQPMessage {
    let queue = line.topology.jobs(awaited.job.lane)
    return JobMessage.message(
      awaited.job, attempt: awaited.attempt, queue: queue, copy: awaited.copy, run: awaited.run)
  }

  /// Does nothing: there is no message in hand.
  func acknowledge() {}

  /// Gives the job to another worker at once. The copy would come back later.
  func requeue() { Task.immediate { @LoopActor in await requeueLater() } }

  func requeueLater() async {
    do {
      try await line.publish(Self.message(awaited, line))
    } catch {
      line.log.warning("a job waits for its copy", ["cause": .failure(error)])
    }
  }
}
