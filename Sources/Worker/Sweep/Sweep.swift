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
///
/// After a wipe of the broker a million may be due. The sweep then goes on at the pace of the workers: it fills the
/// queue again whenever they have nearly emptied it.
@LoopActor
struct Sweep {
  /// What a look has done.
  struct Look: Equatable {
    /// How many jobs it has enqueued again.
    var count = 0
    /// Whether there is more to do: it met its limit, or waits for the workers.
    var goesOn = false
  }

  /// Takes the jobs out of Redis' list that have been due for this long: ``mostAtOnce`` at most.
  let dueJobs: @LoopActor (Duration) async throws -> DueJobs
  /// How many jobs wait in the queues.
  let waiting: @LoopActor () async throws -> Int
  let publish: @LoopActor (AMQPMessage) async throws -> Void
  let topology: Topology
  /// The time until the next look at the same synchronization.
  let interval: Duration
  let log: Log

  /// The most jobs of one look.
  nonisolated static let mostAtOnce = 500
  /// While the sweep fills the queue, it goes on when fewer jobs wait than these.
  nonisolated static let low = 1000
  /// While it fills the queue, a look names so many jobs in the log.
  private nonisolated static let mostNamed = 10

  /// Looks once.
  ///
  /// - Parameter isFilling: whether the last look has met its limit, so that the jobs in the queue are its own.
  func run(isFilling: Bool = false) async -> Look {
    do {
      let waiting = try await waiting()
      if isFilling, waiting >= Self.low { return Look(goesOn: true) }
      let due = try await dueJobs(waiting > 0 && !isFilling ? interval * 10 : .zero)
      if due.newer > 0 { log.warning("left to a newer worker's sweep", ["jobs": .int(Int64(due.newer))]) }
      if due.unreadable > 0 { log.error("no job can be read", ["jobs": .int(Int64(due.unreadable))]) }
      let count = await enqueue(due.jobs, named: isFilling ? Self.mostNamed : Self.mostAtOnce)
      return Look(count: count, goesOn: count > 0 && due.jobs.count >= Self.mostAtOnce)
    } catch {
      log.warning("sweep failed", ["cause": .failure(error)])
      return Look()
    }
  }

  /// - Returns: how many jobs the broker has confirmed. The next look at the others finds them again.
  private func enqueue(_ jobs: [Job], named most: Int) async -> Int {
    // All at once: each waits for its confirm.
    let sent = jobs.enumerated().map { place, job in
      Task { @LoopActor in await enqueue(job, isNamed: place < most) }
    }
    var count = 0
    for one in sent where await one.value { count += 1 }
    if count > most { log.warning("enqueued again", ["jobs": .int(Int64(count))]) }
    return count
  }

  private func enqueue(_ job: Job, isNamed: Bool) async -> Bool {
    do {
      try await publish(JobMessage.message(job, attempt: 1, queue: topology.jobs(job.lane)))
      guard isNamed else { return true }
      log.warning(
        "enqueued again",
        ["synchronizationId": .string(job.synchronizationId.text), "transactionId": .string(job.transactionId.text)])
      return true
    } catch {
      if isNamed { log.warning("sweep failed", ["cause": .failure(error)]) }
      return false
    }
  }
}
