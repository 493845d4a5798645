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
/// queue again before they have emptied it.
///
/// If a worker dies with a job that it had from the line for calls, nobody else has the job but its copy, which may
/// come back half an hour later. So the line lets the sweep look ten seconds after the lease (decision 0039).
///
/// Each lane has a sweep of its own: a long queue of jobs in bulk keeps nobody else's job from coming back.
@LoopActor
struct Sweep {
  /// What a look has done.
  struct Look: Equatable {
    /// How many jobs it has enqueued again that no queue held.
    var count = 0
    /// How many more it has enqueued because a person asked for it.
    var hurried = 0
    /// How long to wait before the next look, if there is more to do: it met its limit, or waits for the workers.
    var pause: Duration?
  }

  /// Takes the jobs out of Redis' list that have been due for this long: ``mostAtOnce`` at most.
  let dueJobs: @LoopActor (Duration) async throws -> DueJobs
  /// How many jobs wait in the lane's queue.
  let waiting: @LoopActor () async throws -> Int
  let publish: @LoopActor (AMQPMessage) async throws -> Void
  let topology: Topology
  /// The time until the next look at the same synchronization.
  let interval: Duration
  let lane: JobLane
  let log: Log

  /// The most jobs of one look.
  nonisolated static let mostAtOnce = 500
  /// While the sweep fills the queue, it goes on when fewer jobs wait than these.
  nonisolated static let low = 1000
  /// The pause between two looks while enough jobs wait. Workers take fewer than ``low`` meanwhile, up to 20,000 a
  /// second. While fewer jobs wait, there is no pause.
  nonisolated static let pause = Duration.milliseconds(50)
  /// The same for jobs in bulk: their queue may stay full for hours.
  nonisolated static let pauseInBulk = Duration.milliseconds(200)
  /// While jobs in bulk wait in the queue, a synchronization is left there for so long: an import may take hours.
  nonisolated static let patienceInBulk = Duration.seconds(86_400)
  /// While it fills the queue, a look names so many jobs in the log.
  private nonisolated static let mostNamed = 10

  /// Looks once.
  ///
  /// - Parameter isFilling: whether the last look has met its limit, so that the jobs in the queue are its own.
  func run(isFilling: Bool = false) async -> Look {
    do {
      let waiting = try await waiting()
      if isFilling, waiting >= Self.low { return Look(pause: pause) }
      let due = try await dueJobs(waiting > 0 && !isFilling ? patience : .zero)
      if due.newer > 0 { log.warning("left to a newer worker's sweep", ["jobs": .int(Int64(due.newer))]) }
      if due.unreadable > 0 { log.error("no job can be read", ["jobs": .int(Int64(due.unreadable))]) }
      var look = await enqueue(due.jobs, named: isFilling ? Self.mostNamed : Self.mostAtOnce)
      let enqueued = look.count + look.hurried
      if enqueued > 0, due.count >= Self.mostAtOnce {
        // A broker that refuses some of them would otherwise be asked again at once, for the next five hundred.
        let isWhole = enqueued == due.jobs.count
        look.pause = isWhole && waiting + enqueued < Self.low ? .zero : pause
      }
      return look
    } catch {
      log.warning("sweep failed", ["cause": .failure(error)])
      return Look()
    }
  }

  private var pause: Duration { lane == .bulk ? Self.pauseInBulk : Self.pause }

  private var patience: Duration { lane == .bulk ? max(interval * 10, Self.patienceInBulk) : interval * 10 }

  /// - Returns: how many jobs the broker has confirmed. The next look at the others finds them again.
  private func enqueue(_ jobs: [DueJob], named most: Int) async -> Look {
    // All at once: each waits for its confirm.
    let sent = jobs.enumerated().map { place, due in
      Task { @LoopActor in await enqueue(due, isNamed: place < most) }
    }
    var look = Look()
    for (due, one) in zip(jobs, sent) where await one.value {
      if due.isHurried { look.hurried += 1 } else { look.count += 1 }
    }
    if look.count > most { log.warning("enqueued again", ["jobs": .int(Int64(look.count))]) }
    if look.hurried > 0 { log.info("hurried", ["jobs": .int(Int64(look.hurried))]) }
    return look
  }

  private func enqueue(_ due: DueJob, isNamed: Bool) async -> Bool {
    let job = due.job
    do {
      try await publish(JobMessage.message(job, attempt: 1, queue: topology.jobs(job.lane), run: due.run))
      guard isNamed, !due.isHurried else { return true }
      log.warning(
        "enqueued again",
        [
          "synchronizationId": .string(job.synchronizationId.text), "transactionId": .string(job.transactionId.text),
          "cause": .string(due.isOutOfLine ? "a worker had it from the line and did not end it" : ""),
        ])
      return true
    } catch {
      if isNamed { log.warning("sweep failed", ["cause": .failure(error)]) }
      return false
    }
  }
}
