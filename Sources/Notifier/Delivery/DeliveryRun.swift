import AMQP
import Configuration
import Domain
import EventLoop
import Ledger
import Messaging
import Observability
import Service

/// Delivers one event from the queue to its endpoints. If an endpoint does not get it now, that endpoint gets a
/// delivery of its own.
///
/// This is an object, and so are the runs that it starts: Swift would copy a value from one suspended function to the
/// next.
@LoopActor
final class DeliveryRun {
  let dependencies: DeliveryRun.Dependencies
  let received: any ReceivedMessage
  private let suspicion: Suspicion
  private let start: StartingLine.Start

  /// If more endpoints get an event, each gets its own message.
  private static let mostAtOnce = 10

  var context: RoleContext { dependencies.context }

  init(
    _ received: any ReceivedMessage, _ suspicion: Suspicion, _ start: StartingLine.Start,
    with dependencies: Dependencies
  ) {
    self.dependencies = dependencies
    self.received = received
    self.suspicion = suspicion
    self.start = start
  }

  func run() async {
    if suspicion.isSuspect { return await run(suspicion) }
    if !dependencies.suspects.enterAtOnce() { await dependencies.suspects.enter() }
    await runOnce()
    dependencies.suspects.leave()
  }

  /// - Parameter crashes: how many notifiers in a row died while they had the message.
  func runOnce(crashes: Int = 0) async {
    var delivery: Delivery
    do {
      delivery = try Delivery(received.delivery)
      delivery.crashes = crashes
    } catch {
      let message = JobMessage.dead(
        received.delivery, reason: error.reason, queue: dependencies.topology.deadDeliveries)
      return await settle(dependencies.bury(message, .malformed, context.log))
    }
    let now = context.now()
    switch DeliveryDelayQueue(due: delivery.due, now: now) {
    case .tier: await settle(dependencies.enqueue(delivery, now: now, context.log))
    case .onLoop(let time): await settle(wait(delivery, time))
    case nil: await settle(deliver(delivery))
    }
  }

  /// Holds a delivery for the last second before its time.
  private func wait(_ delivery: Delivery, _ time: Duration) async -> Bool {
    // Too many held deliveries would make others wait, so these arrive up to a second late.
    guard dependencies.almostDue < max(1, context.settings.notifier.concurrency / 4) else {
      let queue = dependencies.topology.deliveryDelay(DelayTiers.all[0])
      return await dependencies.publish(delivery.message(queue: queue), context.log)
    }
    dependencies.almostDue += 1
    start.end()
    do {
      defer { dependencies.almostDue -= 1 }
      try await EventLoop.sleep(for: time)
    } catch {
      return false
    }
    return await deliver(delivery)
  }

  /// Delivers an event whose time has come.
  ///
  /// - Returns: whether the notifier may acknowledge the message.
  private func deliver(_ delivery: Delivery) async -> Bool {
    let publisher: Publisher
    switch context.publishers.lookUp(delivery.publisherId) {
    case .found(let found): publisher = found
    case .broken: return await putOffBroken(delivery)
    case .unknown: return await retryUnknown(delivery)
    }
    let found: EndpointDirectory.Found
    do {
      if let id = delivery.endpointId {
        guard let endpoint = try await dependencies.directory.endpoint(id, of: publisher) else {
          return await buryGone(delivery, id)
        }
        return await EndpointRun(dependencies, delivery, endpoint, start).run()
      }
      found = try await dependencies.directory.endpoints(
        of: publisher, topic: delivery.topic, environment: delivery.environment(context.doors))
    } catch {
      return await putOff(delivery, error)
    }
    return await deliver(delivery, to: found)
  }

  /// Delays an event, because the notifier could not find out its endpoints.
  private func putOff(_ delivery: Delivery, _ cause: any Error) async -> Bool {
    context.log.warning("delivery put off", ["eventId": .string(delivery.eventId.text), "cause": .failure(cause)])
    return await park(delivery, PutOffCause(cause), DeliveryDelayQueue.postponement(delivery.parks))
  }

  /// Delays an event whose publisher's file has a mistake, until somebody has mended it. These rounds are
  /// not counted, so the notifier never gives the event up for that.
  private func putOffBroken(_ delivery: Delivery) async -> Bool {
    await park(delivery, .publisherBroken, DeliveryDelayQueue.mending(delivery.parks))
  }

  private func park(_ delivery: Delivery, _ cause: PutOffCause, _ wait: Duration) async -> Bool {
    dependencies.metrics.putOff.count(cause.rawValue)
    let now = context.now()
    var later = delivery
    later.due = now + Int64(wait.wholeMilliseconds)
    later.parks += 1
    note(delivery, later.due)
    return await dependencies.enqueue(later, now: now, context.log)
  }

  /// Delivers to several endpoints at the same time, so that a slow one does not hold up the others.
  ///
  /// - Returns: whether this message owes nothing to any of them any more.
  private func deliver(_ delivery: Delivery, to found: EndpointDirectory.Found) async -> Bool {
    let (endpoints, look) = (found.entries, found.look)
    // From here on each endpoint's delivery is a suspect of its own: only one of them may be guilty.
    if delivery.crashes >= Suspects.aloneFrom { return await spread(delivery, look) }
    if endpoints.count == 1 { return await EndpointRun(dependencies, delivery, endpoints[0], start, among: look).run() }
    guard 1...Self.mostAtOnce ~= endpoints.count else { return await spread(delivery, look) }
    // These are tasks and not a task group: the children of a group would start on another thread. This run awaits them
    // at once and cancels them with itself.
    let attempts = endpoints.map { endpoint in
      Task { @LoopActor in await EndpointRun(dependencies, delivery, endpoint, start, among: look).run() }
    }
    return await withTaskCancellationHandler {
      var isSettled = true
      for attempt in attempts where await !attempt.value { isSettled = false }
      return isSettled
    } onCancel: {
      for attempt in attempts { attempt.cancel() }
    }
  }

  /// Makes a message for each endpoint. So the prefetch limits the memory, however many endpoints there are.
  private func spread(_ delivery: Delivery, _ look: EndpointLook) async -> Bool {
    guard let recorded = await record(DeliveryChange(delivery, look: look, .seen)) else { return false }
    return await dependencies.spread(delivery, to: look.endpoints + recorded.missed, context.log)
  }

  /// Acknowledges the message when everything that follows from it is recorded. Otherwise gives it back to the queue.
  func settle(_ isSettled: Bool) async {
    if isSettled {
      received.acknowledge()
    } else {
      await received.requeueLater()
    }
  }

  /// Delays an event whose publisher is not configured: perhaps this notifier has not read the file yet.
  ///
  /// These rounds follow the schedule of attempts, but use up no attempt.
  private func retryUnknown(_ delivery: Delivery) async -> Bool {
    let log = context.log.with([
      "eventId": .string(delivery.eventId.text), "publisherId": .int(delivery.publisherId.number),
    ])
    let cause = "publisher \(delivery.publisherId) is not configured"
    let schedule = context.settings.notifier.retrySchedule
    guard delivery.misses < schedule.count else {
      let message = delivery.message(queue: dependencies.topology.deadDeliveries, reason: cause)
      guard await dependencies.bury(message, .publisherUnknown, log) else { return false }
      return await record(DeliveryChange(delivery, at: delivery.endpointId ?? .unknown, .dropped)) != nil
    }
    let delay = schedule[delivery.misses]
    dependencies.metrics.putOff.count(PutOffCause.publisher.rawValue)
    log.warning("delivery put off", ["cause": .string(cause), "delaySeconds": .double(delay.inSeconds)])
    let now = context.now()
    var next = delivery
    next.misses += 1
    next.due = now + Int64(delay.wholeMilliseconds)
    note(delivery, next.due)
    return await dependencies.enqueue(next, now: now, log)
  }

  private func buryGone(_ delivery: Delivery, _ endpoint: EndpointId) async -> Bool {
    let log = context.log.with(["eventId": .string(delivery.eventId.text), "endpoint": .string(endpoint.text)])
    if delivery.notification != nil {
      log.info("a notification is no longer passed on to this URL")
      dependencies.metrics.forwards.count(NotifierMetrics.dropped)
      return await record(DeliveryChange(delivery, at: endpoint, .dropped)) != nil
    }
    let message = delivery.message(
      queue: dependencies.topology.deadDeliveries, reason: "endpoint \(endpoint) is not there")
    guard await dependencies.bury(message, .endpointGone, log) else { return false }
    return await record(DeliveryChange(delivery, at: endpoint, .dropped)) != nil
  }

  /// Notes when the delivery is due, so that no sweep takes it for lost before.
  private func note(_ delivery: Delivery, _ due: Int64?) {
    guard let due else { return }
    dependencies.recorder.note(DeliveryChange(delivery, at: delivery.endpointId ?? .unknown, .postponed(until: due)))
  }

  /// - Returns: `nil` if the ledger refused the change, or the notifier stops: then the message must not go.
  func record(_ change: DeliveryChange) async -> DeliveryRecorder.Recorded? {
    do {
      return try await dependencies.recorder.record(change)
    } catch {
      context.log.error(
        "the ledger did not store a record", ["eventId": .string(change.eventId.text), "cause": .failure(error)])
      return nil
    }
  }
}
