import AMQP
import Domain
import EventLoop
import Messaging
import Observability
import Store

/// Enqueues open synchronizations again that no queue holds any more, for example because the broker was wiped.
///
/// A synchronization is due when it has been open for longer than it should. While jobs wait in the queue, a due one is
/// most likely among them, so with an empty queue the sweep acts at once, and else only on what is long overdue. A job that is enqueued twice does no harm: the
/// lease lets one run, and the other finds the synchronization finalized.
@LoopActor
struct Sweep {
  let store: PurchaseStore
  let publisher: AMQPPublisher
  let topology: Topology
  let interval: Duration
  let log: Log

  /// Looks once.
  ///
  /// - Returns: how many jobs were enqueued again.
  func run() async -> Int {
    guard store.isReady, publisher.isReady, let channel = publisher.channel else { return 0 }
    var count = 0
    do {
      let isBusy = try await channel.declareQueue(topology.jobs, passive: true).messages > 0
      let overdue = isBusy ? interval * 10 : .zero
      let due = try await store.dueJobs(limit: 500, lookAgainAfter: interval, overdueBy: overdue)
      if due.newer > 0 { log.warning("left to a newer worker's sweep", ["jobs": .int(Int64(due.newer))]) }
      if due.unreadable > 0 { log.error("no job can be read", ["jobs": .int(Int64(due.unreadable))]) }
      for job in due.jobs {
        try await publisher.publish(JobMessage.message(job, attempt: 1, queue: topology.jobs))
        log.warning(
          "enqueued again",
          ["synchronizationId": .string(job.synchronizationId), "transactionId": .string(job.transactionId)])
        count += 1
      }
    } catch {
      log.warning("sweep failed", ["cause": .failure(error)])
    }
    return count
  }
}
