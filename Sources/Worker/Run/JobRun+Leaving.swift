import AMQP
import Configuration
import Coordination
import Domain
import EventLoop
import Messaging
import Observability
import Service

/// The ways of a job off the queue before it has ended.
extension JobRun {
  /// Leaves the job to the line. Its copy at the broker comes back if the line forgets it.
  func waitInLine(_ expected: Duration, _ copy: String) async {
    dependencies.metrics.budgetWaits.count()
    dependencies.onJoin()
    guard !received.hasCopy else { return }
    dependencies.metrics.retries.count(RetryCause.budget.rawValue)
    await publish(attempt, JobDelayQueue(atLeast: JobCopy.returns(after: expected)), isUntried: true, copy: copy)
  }

  /// Delays the job, and acknowledges this delivery.
  func delay(_ next: Int, _ wait: Duration, _ cause: RetryCause, hasRun: Bool = false) async {
    dependencies.metrics.retries.count(cause.rawValue)
    // Only a job that has not run yet keeps the mark that it was redelivered. The end of any other job is known.
    let isUntried = !hasRun && Self.withoutRun.contains(cause)
    // A copy that could not run is still the copy.
    await publish(
      next, JobDelayQueue(wait, now: now, isInLine: cause.waitsForPerson), isUntried: isUntried,
      copy: isUntried ? JobMessage.copy(received.delivery) : nil)
  }

  /// The causes that can put a job off before it runs.
  private static let withoutRun: Set<RetryCause> = [.busy, .budget, .storeUnavailable, .newerFormat]

  /// Keeps a job that waits for long in the ledger too: Redis and the broker may each lose it meanwhile.
  func keepInLedger(_ wait: Duration) async {
    guard wait > .seconds(30) else { return }
    do {
      try await dependencies.ledger.postpone(job, until: now + Int64(wait.wholeMilliseconds))
    } catch {
      log.warning("the ledger did not store the waiting job", ["cause": .failure(error)])
    }
  }

  /// Puts a job off again that has not waited long enough behind one delay queue.
  func goOn(_ delay: JobDelayQueue) async {
    await publish(attempt, delay, isUntried: true, copy: JobMessage.copy(received.delivery))
  }

  /// Publishes the job to a delay queue. Once the broker confirms it, acknowledges this delivery.
  private func publish(_ next: Int, _ delay: JobDelayQueue, isUntried: Bool, copy name: String?) async {
    let queue = dependencies.topology.jobDelay(delay.tier, job.lane)
    do {
      let message = JobMessage.message(
        job, attempt: next, queue: queue, due: delay.due,
        wasRedelivered: isUntried && JobMessage.wasRedelivered(received.delivery), copy: name, run: number)
      try await dependencies.broker.publishSurely(message)
      if name == nil { await forgetCopy() }
      received.acknowledge()
    } catch {
      log.error("the job could not be delayed", ["queue": .string(queue), "cause": .failure(error)])
      await received.requeueLater()
    }
  }

  /// Notes that a new message has taken the place of the copy. The broker may have the copy still, and it would run
  /// beside the message.
  private func forgetCopy() async {
    guard copy.isDelivered else { return }
    do {
      try await dependencies.leases.forget(copy, of: job)
    } catch {
      log.debug("the copy of a job could not be deleted", ["cause": .failure(error)])
    }
  }

  func release(
    isRetrying: Bool, after wait: Duration, isRun: Bool = true, route: String? = nil, cause: RetryCause? = nil
  ) async {
    do {
      try await dependencies.leases.release(
        job, lease, isRetrying: isRetrying, sweepAfter: dependencies.settings.sweepAfter + wait, route: route,
        cause: cause, isRun: isRun)
    } catch {
      // The lease ends by itself. The job waits longer than that at most once.
      log.warning("release failed", ["cause": .failure(error)])
    }
  }

  func handBack(_ route: String?) async {
    dependencies.heldLeases.letGo(self)
    await release(isRetrying: false, after: .zero, isRun: false, route: route)
    log.info("handed back")
    received.requeue()
  }
}
