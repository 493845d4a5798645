import AMQP
import Configuration
import EventLoop
import Fleet
import Observability
import Purchases

/// Delivers one event, from the queue to its endpoints; each endpoint that does not get it now gets a delivery of its own.
@LoopActor
struct DeliveryRun {
  let notifier: Notifier
  let received: AMQPConsumer.Received

  /// An event for more endpoints is spread over messages of their own.
  private static let mostAtOnce = 10

  private var context: RoleContext { notifier.context }

  func run() async {
    let delivery: Delivery
    do {
      delivery = try Delivery(received.delivery)
    } catch {
      return await bury(error.reason)
    }
    let now = context.now()
    switch DeliveryDelay(due: delivery.due, now: now) {
    case .tier: return await settle(notifier.enqueue(delivery, now: now, context.log))
    case .onLoop(let time):
      // Too many of them would keep others waiting: a second late is better.
      guard notifier.almostDue < max(1, context.settings.notifier.concurrency / 4) else {
        let queue = notifier.topology.deliveryDelay(DeliveryDelay.tiers[0])
        return await settle(notifier.publish(delivery.message(queue: queue), context.log))
      }
      notifier.almostDue += 1
      defer { notifier.almostDue -= 1 }
      do { try await EventLoop.sleep(for: time) } catch { return await settle(false) }
    case nil: break
    }
    guard let publisher = context.publishers[delivery.publisherId] else {
      return await settle(retryUnknown(delivery))
    }
    do {
      if let owed = delivery.endpointId {
        guard let endpoint = try await notifier.directory.endpoint(owed, of: publisher) else {
          return await bury("endpoint \(owed) is not there")
        }
        return await settle(EndpointRun(notifier, delivery, endpoint).run())
      }
      let endpoints = try await notifier.directory.endpoints(of: publisher).filter {
        $0.topics.contains(delivery.topic)
      }
      await settle(deliver(delivery, to: endpoints))
    } catch {
      // Nobody knows yet to whom it goes.
      notifier.metrics.putOff.count("store")
      context.log.warning(
        "delivery put off", ["eventId": .string(delivery.eventId), "cause": .failure(error)])
      var later = delivery
      later.due = now + Int64(DeliveryDelay.parking(delivery.parks).wholeMilliseconds)
      later.parks += 1
      await settle(notifier.enqueue(later, now: now, context.log))
    }
  }

  /// Delivers to several endpoints at once: a slow one does not keep the others waiting.
  ///
  /// - Returns: whether none of them is owed anything by this message any more.
  private func deliver(_ delivery: Delivery, to endpoints: [WebhookEndpoint]) async -> Bool {
    if endpoints.count == 1 { return await EndpointRun(notifier, delivery, endpoints[0]).run() }
    guard endpoints.count <= Self.mostAtOnce else { return await spread(delivery, to: endpoints) }
    // Tasks and no group, whose children would start on another thread; they are awaited at once and cancelled with this
    // run.
    let attempts = endpoints.map { endpoint in
      Task { @LoopActor in await EndpointRun(notifier, delivery, endpoint).run() }
    }
    return await withTaskCancellationHandler {
      var isSettled = true
      for attempt in attempts where await !attempt.value { isSettled = false }
      return isSettled
    } onCancel: {
      for attempt in attempts { attempt.cancel() }
    }
  }

  /// Makes a message for each endpoint, so that what is held is bounded by the prefetch however many there are.
  private func spread(_ delivery: Delivery, to endpoints: [WebhookEndpoint]) async -> Bool {
    for start in stride(from: 0, to: endpoints.count, by: 100) {
      let copies = endpoints[start..<min(start + 100, endpoints.count)].map { endpoint in
        var copy = delivery
        copy.endpointId = endpoint.id
        copy.due = nil
        copy.parks = 0
        return copy.message(queue: notifier.topology.deliveries)
      }
      let publishing = copies.map { copy in Task { @LoopActor in await notifier.publish(copy, context.log) } }
      var isSpread = true
      for task in publishing where await !task.value { isSpread = false }
      guard isSpread else { return false }
    }
    return true
  }

  /// Takes the message off the queue when all that follows from it is recorded, and gives it back otherwise.
  private func settle(_ isSettled: Bool) async {
    if isSettled {
      received.acknowledge()
    } else {
      await received.requeueLater()
    }
  }

  /// Delays an event whose publisher is not configured: perhaps this notifier has not read the file yet.
  private func retryUnknown(_ delivery: Delivery) async -> Bool {
    let now = context.now()
    let verdict = AttemptVerdict(
      failedWith: "publisher \(delivery.publisherId) is not configured", attempt: delivery.attempt,
      schedule: context.settings.notifier.retrySchedule, jitter: 1)
    notifier.metrics.attempts.count(verdict.outcome.rawValue)
    let log = context.log.with(["eventId": .string(delivery.eventId), "reason": .string(verdict.error ?? "")])
    guard case .again(let delay, _) = verdict else {
      log.error("delivery abandoned")
      return await notifier.publish(
        delivery.message(queue: notifier.topology.deadDeliveries, reason: verdict.error), log)
    }
    log.warning("delivery delayed")
    var next = delivery
    next.attempt += 1
    next.due = now + Int64(delay.wholeMilliseconds)
    return await notifier.enqueue(next, now: now, log)
  }

  private func bury(_ reason: String) async {
    context.log.error("a message is no event, or owed to nobody", ["reason": .string(reason)])
    let message = JobMessage.dead(received.delivery, reason: reason, queue: notifier.topology.deadDeliveries)
    let isBuried = await notifier.publish(message, context.log)
    if isBuried { notifier.metrics.dead.count() }
    await settle(isBuried)
  }
}
