import AMQP
import Coordination
import Domain
import EventLoop
import Messaging
import Observability

/// Enqueues open synchronizations again that no queue holds any more, for example because somebody wiped the broker.
///
/// A synchronization is due when it has been open for longer than it should be. While jobs wait in the queue, a due
/// one is most likely among them. So the sweep acts at once only if the queue is empty. Otherwise it acts only on
/// synchronizations that are long overdue. A job that is in the queue twice does no harm: the lease lets one run, and
/// the other finds the synchronization finalized.
@LoopActor
struct Sweep {
  /// Takes the jobs out of Redis' list that have been due for this long.
  let dueJobs: @LoopActor (Duration) async throws -> DueJobs
  /// How many jobs wait in the queue.
  let waiting: @LoopActor () async throws -> Int
  let publish: @LoopActor (AMQPMessage) async throws -> Void
  let queue: String
  /// The time until the next look at the same synchronization.
  let interval: Duration
  let log: Log

  /// Looks once.
  ///
  /// - Returns: how many jobs the sweep has enqueued again.
  func run() async -> Int {
    var count = 0
    do {
      let due = try await dueJobs(try await waiting() > 0 ? interval * 10 : .zero)
      if due.newer > 0 { log.warning("left to a newer worker's sweep", ["jobs": .int(Int64(due.newer))]) }
      if due.unreadable > 0 { log.error("no job can be read", ["jobs": .int(Int64(due.unreadable))]) }
      for job in due.jobs {
        try await publish(JobMessage.message(job, attempt: 1, queue: queue))
        log.warning(
          "enqueued again",
          ["synchronizationId": .string(job.synchronizationId.text), "transactionId": .string(job.transactionId.text)])
        count += 1
      }
    } catch {
      log.warning("sweep failed", ["cause": .failure(error)])
    }
    return count
  }
}
