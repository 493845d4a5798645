import AMQP
import Domain
import EventLoop
import Messaging
import Observability
import Service

/// The way of a delivery that this worker cannot run.
extension JobRun {
  /// Runs a delivery. If this worker cannot run it, buries it or puts it off.
  static func work(on received: any JobDelivery, with dependencies: Dependencies) async {
    let run: JobRun
    do throws(JobMessage.Unreadable) {
      run = try JobRun(received, with: dependencies)
    } catch {
      return await dependencies.refuse(received, error)
    }
    await run.run()
  }
}

extension JobRun.Dependencies {
  fileprivate func refuse(_ received: any JobDelivery, _ cause: JobMessage.Unreadable) async {
    switch cause {
    case .malformed(let reason): await bury(received, .malformed, reason)
    case .newer(let format): await putOff(received, format)
    }
  }

  /// Puts a delivery into the dead-letter queue, with the reason in a header.
  func bury(_ received: any JobDelivery, _ cause: DeadCause, _ reason: String) async {
    log.error(
      "a message is not a job",
      ["reason": .string(reason), "messageId": .string(received.delivery.properties.messageID ?? "")])
    do {
      var message = JobMessage.dead(received.delivery, reason: reason, queue: topology.deadJobs)
      message.bury(cause, at: clock.now())
      try await broker.publishSurely(message)
      metrics.dead.count()
      received.acknowledge()
    } catch {
      log.error("a delivery could not be buried", ["cause": .failure(error)])
      await received.requeueLater()
    }
  }

  /// Delays a job that only a newer worker can run, until such a worker takes it.
  ///
  /// The worker never buries the job: the gateway accepted it, and its claim lasts until it is finalized. The next
  /// deployment, at the latest, brings workers that can run it. Until then the job costs one message in half a minute.
  /// A delay does not count as an attempt.
  private func putOff(_ received: any JobDelivery, _ format: Job.NewerFormat) async {
    metrics.retries.count(RetryCause.newerFormat.rawValue)
    log.warning(
      "put off",
      [
        "cause": .string(format.description),
        "messageId": .string(received.delivery.properties.messageID ?? ""),
      ])
    do {
      let message = JobMessage.putOff(received.delivery) { parks in
        // The first delays are short: during a deployment newer workers run beside older ones.
        topology.jobDelay(.seconds([1, 5, 30][min(parks, 2)]))
      }
      try await broker.publishSurely(message)
      received.acknowledge()
    } catch {
      log.error("the job could not be delayed", ["cause": .failure(error)])
      await received.requeueLater()
    }
  }
}
