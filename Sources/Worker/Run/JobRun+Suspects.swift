import AMQP
import Coordination
import Domain
import EventLoop
import Messaging
import Observability
import Service

/// The way of a job whose earlier runs did not end (decision 0010).
extension JobRun {
  /// Waits until no other job runs, or it has waited long enough, and then goes on. Returns false when the job is off
  /// the queue.
  func becomeAlone() async -> Bool {
    guard lease.crashes < Suspects.givenUpFrom else {
      await giveUp()
      return false
    }
    // The job waits without a lease, so that a crash meanwhile does not count against it.
    await release(isRetrying: false, after: .zero, isRun: false)
    dependencies.suspects.leave()
    place = await dependencies.suspects.enterAlone(crashes: lease.crashes)
    guard place != nil else {
      // `run()` ends this run as an ordinary one.
      await dependencies.suspects.enter()
      await delay(attempt, .seconds(5), .suspect)
      return false
    }
    if Task.isCancelled {
      received.requeue()
      return false
    }
    guard await takeLease() else { return false }
    log.warning("run alone: earlier runs did not end", ["crashes": .int(Int64(lease.crashes))])
    return true
  }

  /// Gives up a job whose runs never end: puts a copy into the dead-letter queue, and finalizes the synchronization.
  private func giveUp() async {
    // The copy may have to wait for the broker, and the commit for the ledger. The lease must not end meanwhile.
    dependencies.heldLeases.hold(self)
    let reason = "\(lease.crashes) runs in a row did not end: it seems to kill its worker"
    log.error("given up", ["reason": .string(reason)])
    do {
      var message = JobMessage.dead(received.delivery, reason: reason, queue: dependencies.topology.deadJobs)
      message.bury(.crashed, at: now)
      try await dependencies.broker.publishSurely(message)
      dependencies.metrics.dead.count()
    } catch {
      // Without the copy, the result, the event and the log still tell about the job.
      log.error("a delivery could not be buried", ["cause": .failure(error)])
    }
    await finalize(.noEvidence(.internalError), lastingRoute())
  }
}
