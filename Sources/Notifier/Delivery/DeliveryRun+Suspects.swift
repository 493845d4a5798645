import AMQP
import Coordination
import EventLoop
import Ledger
import Messaging
import Observability
import Service

/// The way of a message that notifiers may have died of (decision 0034).
///
/// The first delivery of a message costs nothing here. When the broker delivers it again, Redis counts the runs that
/// began and never ended. A count goes on in the header of a message that a notifier puts off before its attempt. From
/// then on only begun runs count, so a death while the message waits for its turn does not.
extension DeliveryRun {
  func run(_ suspicion: Suspicion) async {
    let crashes: Int
    do {
      crashes = suspicion.crashes(begun: try await dependencies.begun.counts([suspicion.name])[0])
    } catch {
      return await settle(waitForRedis(suspicion, error))
    }
    let ending = await dependencies.suspects.run(crashes: crashes, log(suspicion)) { await run(suspicion, crashes) }
    switch ending {
    case .ran: break
    case .later: await settle(waitForOther(suspicion, crashes))
    case .never: await settle(putAside(suspicion, crashes))
    }
  }

  /// Runs a message, and counts the run as long as it lasts.
  private func run(_ suspicion: Suspicion, _ crashes: Int) async {
    do {
      try await dependencies.begun.begin([suspicion.name])
    } catch {
      return await settle(waitForRedis(suspicion, error))
    }
    if Task.isCancelled {
      received.requeue()
    } else {
      await runOnce(crashes: crashes)
    }
    await forget(suspicion)
  }

  /// A count that stays does little harm: if another notifier gets the same message again, it comes to its end sooner.
  private func forget(_ suspicion: Suspicion) async {
    do {
      try await dependencies.begun.end([suspicion.name])
    } catch {
      context.log.debug("the end of a run could not be noted", ["cause": .failure(error)])
    }
  }

  /// Puts a message off that nobody can count now. Others, which come for the first time, go on without Redis.
  private func waitForRedis(_ suspicion: Suspicion, _ cause: any Error) async -> Bool {
    context.log.warning("Redis could not be asked for a delivery that comes again", ["cause": .failure(cause)])
    return await putOff(.seconds(1), crashes: suspicion.crashes, isUncounted: true)
  }

  /// Puts a suspect off behind another one, or because ordinary deliveries have their time. The delays differ, so that
  /// not all of them come back at once.
  private func waitForOther(_ suspicion: Suspicion, _ crashes: Int) async -> Bool {
    let tier = [Duration.seconds(1), .seconds(1), .seconds(2), .seconds(5)].randomElement() ?? .seconds(1)
    guard await putOff(tier, crashes: crashes) else { return false }
    // From here on the header has the count.
    await forget(suspicion)
    return true
  }

  private func putOff(_ tier: Duration, crashes: Int, isUncounted: Bool = false) async -> Bool {
    dependencies.metrics.putOff.count(PutOffCause.suspect.rawValue)
    let message = Suspicion.copy(
      of: received.delivery, queue: dependencies.topology.deliveryDelay(tier), crashes: crashes,
      isUncounted: isUncounted)
    return await dependencies.publish(message, context.log)
  }

  /// Puts a message aside that seems to kill its notifiers: a copy goes into the queue of the dead, and the ledger's
  /// delivery ends, so that no sweep brings it back.
  private func putAside(_ suspicion: Suspicion, _ crashes: Int) async -> Bool {
    let reason = "\(crashes) notifiers in a row died while they had it: it seems to kill its process"
    let message = Suspicion.copy(
      of: received.delivery, queue: dependencies.topology.deadDeliveries, reason: reason)
    let log = log(suspicion)
    log.error("put aside", ["crashes": .int(Int64(crashes))])
    guard await dependencies.bury(message, .crashed, log) else { return false }
    // The count stays for a while: a copy of the message would kill once, and not six times more.
    return await record(suspicion.end(reason, at: context.now())) != nil
  }

  private func log(_ suspicion: Suspicion) -> Log {
    context.log.with([
      "eventId": .string(received.delivery.properties.messageID ?? ""), "run": .string(suspicion.name),
    ])
  }
}
