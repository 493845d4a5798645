import AMQP
import Configuration
import EventLoop
import Fleet
import HTTPClient
import Observability
import Purchases

/// Delivers one event, from the queue to its endpoints; each endpoint that fails gets a delayed delivery of its own.
@LoopActor
struct DeliveryRun {
  let notifier: Notifier
  let received: AMQPConsumer.Received

  private var context: RoleContext { notifier.context }

  func run() async {
    let delivery: Delivery
    do {
      delivery = try Delivery(received.delivery)
    } catch {
      return await bury(error.reason)
    }
    guard let publisher = context.publishers[delivery.publisherId] else {
      // Perhaps this notifier has not read the publisher's file yet.
      let cause = "publisher \(delivery.publisherId) is not configured"
      let verdict = AttemptVerdict(
        failedWith: cause, attempt: delivery.attempt, schedule: context.settings.notifier.retrySchedule)
      let isSettled = await follow(verdict, delivery, to: delivery.endpointId, context.log)
      return isSettled ? received.acknowledge() : await received.requeueLater()
    }
    let endpoints = publisher.webhooks.filter { endpoint in
      delivery.endpointId.map { $0 == endpoint.id } ?? endpoint.topics.contains(delivery.topic)
    }
    if let owed = delivery.endpointId, endpoints.isEmpty { return await bury("endpoint \(owed) is not configured") }
    // All at once: a slow endpoint does not keep the others waiting. Tasks and no group, whose children would start on
    // another thread; they are awaited at once and cancelled with this run.
    let attempts = endpoints.map { endpoint in Task { @LoopActor in await deliver(delivery, to: endpoint) } }
    let isSettled = await withTaskCancellationHandler {
      var isSettled = true
      for attempt in attempts where await !attempt.value { isSettled = false }
      return isSettled
    } onCancel: {
      for attempt in attempts { attempt.cancel() }
    }
    if isSettled {
      received.acknowledge()
    } else {
      await received.requeueLater()
    }
  }

  /// Makes one attempt and records what follows from it.
  ///
  /// - Returns: whether the event is delivered, delayed or buried, so that this message may go.
  private func deliver(_ delivery: Delivery, to endpoint: Publisher.WebhookEndpoint) async -> Bool {
    let log = context.log.with([
      "eventId": .string(delivery.eventId), "publisherId": .int(delivery.publisherId),
      "synchronizationId": .string(delivery.synchronizationId), "endpoint": .string(endpoint.id),
      "attempt": .int(Int64(delivery.attempt)),
      "traceId": .string(delivery.traceparent.flatMap { TraceParent($0)?.traceId } ?? ""),
    ])
    let verdict = await attempt(delivery, to: endpoint)
    if Task.isCancelled, verdict != .delivered { return false }  // the notifier stops: no failure of the endpoint
    return await follow(verdict, delivery, to: endpoint.id, log)
  }

  /// Records what follows from an attempt.
  private func follow(
    _ verdict: AttemptVerdict, _ delivery: Delivery, to endpoint: String?, _ log: Log
  ) async -> Bool {
    switch verdict {
    case .delivered:
      log.info("delivered")
      notifier.metrics.attempts.count("delivered")
      return true
    case .again(let delay, let cause):
      let tier = notifier.policy.tier(for: delay)
      log.info("delivery delayed", ["cause": .string(cause), "delaySeconds": .double(tier.inSeconds)])
      notifier.metrics.attempts.count("failed")
      return await publish(
        delivery.next(to: endpoint, attempt: delivery.attempt + 1).message(
          queue: notifier.topology.deliveryDelay(tier)),
        log)
    case .abandoned(let reason):
      log.error("delivery abandoned", ["reason": .string(reason)])
      notifier.metrics.attempts.count("abandoned")
      return await publish(
        delivery.next(to: endpoint, attempt: delivery.attempt)
          .message(queue: notifier.topology.deadDeliveries, reason: reason), log)
    }
  }

  private func attempt(_ delivery: Delivery, to endpoint: Publisher.WebhookEndpoint) async -> AttemptVerdict {
    let settings = context.settings.notifier
    let timestamp = context.now() / 1000
    var headers = [
      (name: "Content-Type", value: "application/json"),
      (name: "webhook-id", value: delivery.eventId),
      (name: "webhook-timestamp", value: String(timestamp)),
      (
        name: "webhook-signature",
        value: WebhookSignature.v1(
          id: delivery.eventId, timestamp: timestamp, body: delivery.body, secret: endpoint.secret)
      ),
    ]
    if let trace = delivery.traceparent.flatMap({ TraceParent($0) }) {
      headers.append((name: "traceparent", value: trace.child().description))
    }
    let start = ContinuousClock.now
    defer { notifier.metrics.duration.observe((ContinuousClock.now - start).inSeconds) }
    do {
      let answer = try await notifier.client.send(
        HTTPClientRequest(
          "POST", endpoint.url, headers: headers, body: delivery.body, timeout: settings.timeout,
          maxResponseBytes: 64 << 10))
      return AttemptVerdict(
        status: answer.status, retryAfter: answer.header("retry-after").flatMap { Int($0) },
        attempt: delivery.attempt, schedule: settings.retrySchedule)
    } catch {
      return AttemptVerdict(
        failedWith: error.description, attempt: delivery.attempt, schedule: settings.retrySchedule)
    }
  }

  private func publish(_ message: AMQPMessage, _ log: Log) async -> Bool {
    do {
      try await notifier.publisher.publishSurely(message)
      return true
    } catch {
      log.error("the delivery could not be recorded", ["queue": .string(message.routingKey), "cause": .failure(error)])
      return false
    }
  }

  private func bury(_ reason: String) async {
    context.log.error("a message is no event", ["reason": .string(reason)])
    let message = JobMessage.dead(received.delivery, reason: reason, queue: notifier.topology.deadDeliveries)
    if await publish(message, context.log) {
      notifier.metrics.dead.count()
      received.acknowledge()
    } else {
      await received.requeueLater()
    }
  }
}

extension Delivery {
  fileprivate func next(to endpoint: String?, attempt: Int) -> Delivery {
    var next = self
    (next.endpointId, next.attempt) = (endpoint, attempt)
    return next
  }
}
