import AMQP
import Configuration
import Domain
import EventLoop
import Ledger
import Messaging
import Observability
import Redis
import Service
import Store

/// Delivers one event, from the queue to its endpoints; each endpoint that does not get it now gets a delivery of its own.
///
/// An object, as are the runs that it starts: a value would be copied from one suspended function to the next.
@LoopActor
final class DeliveryRun {
  private let notifier: Notifier
  private let received: AMQPConsumer.Received

  /// An event for more endpoints is spread over messages of their own.
  private static let mostAtOnce = 10

  private var context: RoleContext { notifier.context }

  init(notifier: Notifier, received: AMQPConsumer.Received) {
    self.notifier = notifier
    self.received = received
  }

  func run() async {
    let delivery: Delivery
    do {
      delivery = try Delivery(received.delivery)
    } catch {
      let message = JobMessage.dead(
        received.delivery, reason: error.reason, queue: notifier.topology.deadDeliveries)
      return await settle(notifier.bury(message, .malformed, context.log))
    }
    let now = context.now()
    switch DeliveryDelay(due: delivery.due, now: now) {
    case .tier: await settle(notifier.enqueue(delivery, now: now, context.log))
    case .onLoop(let time): await settle(wait(delivery, time))
    case nil: await settle(deliver(delivery))
    }
  }

  /// Holds a delivery for the last second before it is due.
  private func wait(_ delivery: Delivery, _ time: Duration) async -> Bool {
    // Too many of them would keep others waiting: a second late is better.
    guard notifier.almostDue < max(1, context.settings.notifier.concurrency / 4) else {
      let queue = notifier.topology.deliveryDelay(DelayTiers.all[0])
      return await notifier.publish(delivery.message(queue: queue), context.log)
    }
    notifier.almostDue += 1
    do {
      defer { notifier.almostDue -= 1 }
      try await EventLoop.sleep(for: time)
    } catch {
      return false
    }
    return await deliver(delivery)
  }

  /// Delivers what is due.
  ///
  /// - Returns: whether the message may go.
  private func deliver(_ delivery: Delivery) async -> Bool {
    guard let publisher = context.publishers[delivery.publisherId] else { return await retryUnknown(delivery) }
    let found: [EndpointDirectory.Entry]
    do {
      if let id = delivery.endpointId {
        guard let endpoint = try await notifier.directory.endpoint(id, of: publisher) else {
          return await buryGone(delivery, id)
        }
        return await EndpointRun(notifier, delivery, endpoint).run()
      }
      found = try await notifier.directory.endpoints(of: publisher, topic: delivery.topic)
    } catch {
      return await putOff(delivery, error)
    }
    return await deliver(delivery, to: found)
  }

  /// Delays an event of which nobody knows yet to whom it goes.
  private func putOff(_ delivery: Delivery, _ cause: any Error) async -> Bool {
    notifier.metrics.putOff.count((cause as? RedisError)?.isNewerRecord == true ? "newer_format" : "store")
    context.log.warning("delivery put off", ["eventId": .string(delivery.eventId), "cause": .failure(cause)])
    let now = context.now()
    var later = delivery
    later.due = now + Int64(DeliveryDelay.parking(delivery.parks).wholeMilliseconds)
    later.parks += 1
    return await notifier.enqueue(later, now: now, context.log)
  }

  /// Delivers to several endpoints at once: a slow one does not keep the others waiting.
  ///
  /// - Returns: whether none of them is owed anything by this message any more.
  private func deliver(_ delivery: Delivery, to endpoints: [EndpointDirectory.Entry]) async -> Bool {
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
  private func spread(_ delivery: Delivery, to endpoints: [EndpointDirectory.Entry]) async -> Bool {
    for start in stride(from: 0, to: endpoints.count, by: 100) {
      let copies = endpoints[start..<min(start + 100, endpoints.count)].map { entry in
        var copy = delivery
        copy.endpointId = entry.endpoint.id
        copy.due = nil
        copy.parks = 0
        copy.misses = 0
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

  /// Delays an event whose publisher is not configured: perhaps this notifier has not read the file yet. These rounds
  /// have the schedule of attempts, and use up none of them.
  private func retryUnknown(_ delivery: Delivery) async -> Bool {
    let log = context.log.with(["eventId": .string(delivery.eventId), "publisherId": .int(delivery.publisherId)])
    let cause = "publisher \(delivery.publisherId) is not configured"
    let schedule = context.settings.notifier.retrySchedule
    guard delivery.misses < schedule.count else {
      let message = delivery.message(queue: notifier.topology.deadDeliveries, reason: cause)
      return await notifier.bury(message, .publisherUnknown, log)
    }
    let delay = schedule[delivery.misses]
    notifier.metrics.putOff.count("publisher")
    log.warning("delivery put off", ["cause": .string(cause), "delaySeconds": .double(delay.inSeconds)])
    let now = context.now()
    var next = delivery
    next.misses += 1
    next.due = now + Int64(delay.wholeMilliseconds)
    return await notifier.enqueue(next, now: now, log)
  }

  private func buryGone(_ delivery: Delivery, _ endpoint: String) async -> Bool {
    let log = context.log.with(["eventId": .string(delivery.eventId), "endpoint": .string(endpoint)])
    let message = delivery.message(
      queue: notifier.topology.deadDeliveries, reason: "endpoint \(endpoint) is not there")
    return await notifier.bury(message, .endpointGone, log)
  }
}
