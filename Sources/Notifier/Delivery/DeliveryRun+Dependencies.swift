import AMQP
import Configuration
import Coordination
import Domain
import EventLoop
import HTTPClient
import Ledger
import Messaging
import Observability
import Postgres
import Service

extension DeliveryRun {
  /// The dependencies of all runs of a notifier. They share one object.
  @LoopActor
  final class Dependencies {
    let context: RoleContext
    let topology: Topology
    let metrics: NotifierMetrics
    let broker: any MessageBroker
    /// Sends webhooks.
    let client: HTTPClient
    let postgres: PostgresClient
    let endpoints: WebhookEndpointStore
    let deliveries: DeliveryLedger
    let notifications: NotificationStore
    let recorder: DeliveryRecorder
    let pacing: EndpointPacing
    let begun: BegunRuns
    let outlet: EventOutlet
    let directory: EndpointDirectory
    let lanes: EndpointLanes
    let underWay: AttemptsUnderWay
    let suspects = Suspects()

    /// The number of deliveries that the notifier holds for the last second before their time.
    var almostDue = 0

    /// The attempts that have ended and are not recorded yet. A copy of their message must not make them again.
    var unrecorded: Set<UnrecordedAttempt> = []

    /// Takes those of a notifier.
    init(_ parts: NotifierParts) {
      context = parts.context
      topology = parts.topology
      metrics = parts.metrics
      broker = parts.publisher
      client = parts.client
      postgres = parts.ledger.postgres
      let endpoints = context.makeEndpointStore(postgres)
      self.endpoints = endpoints
      deliveries = parts.deliveries
      notifications = NotificationStore(postgres)
      recorder = parts.recorder
      let pacing = EndpointPacing(parts.redis.client, prefix: context.settings.redis.prefix)
      self.pacing = pacing
      begun = BegunRuns(parts.redis.client, prefix: context.settings.redis.prefix)
      outlet = parts.outlet
      directory = EndpointDirectory { try await endpoints.endpoints($0, since: $1, configured: $2) }
      lanes = EndpointLanes(concurrency: context.settings.notifier.concurrency)
      underWay = AttemptsUnderWay { try await pacing.renew($0, lease: AttemptsUnderWay.lease) }
    }
  }
}

/// What a run publishes.
extension DeliveryRun.Dependencies {
  /// Puts a delivery into a delay queue, where it waits for its time.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Returns: whether the broker has it.
  func enqueue(_ delivery: Delivery, now: Int64, _ log: Log) async -> Bool {
    let queue =
      if case .tier(let tier) = DeliveryDelayQueue(due: delivery.due, now: now) { topology.deliveryDelay(tier) } else {
        context.deliveryQueues.next(of: delivery.publisherId)
      }
    return await publish(delivery.message(queue: queue), log)
  }

  /// Publishes a delivery apart for each of some endpoints, for at once.
  ///
  /// - Returns: whether the broker has all of them.
  func spread(_ delivery: Delivery, to endpoints: [EndpointId], _ log: Log) async -> Bool {
    for start in stride(from: 0, to: endpoints.count, by: 100) {
      let copies = endpoints[start..<min(start + 100, endpoints.count)].map { endpoint in
        var copy = delivery
        copy.endpointId = endpoint
        copy.due = nil
        copy.isPlanned = false
        copy.parks = 0
        copy.misses = 0
        return copy.message(queue: context.deliveryQueues.next(of: copy.publisherId))
      }
      let publishing = copies.map { copy in Task { @LoopActor in await publish(copy, log) } }
      var isSpread = true
      for task in publishing where await !task.value { isSpread = false }
      guard isSpread else { return false }
    }
    return true
  }

  /// Puts a message into the queue of the dead, where it waits for a person, and counts it.
  ///
  /// - Parameter message: a message to the queue of the dead; its header for the reason says what happened.
  /// - Returns: whether the broker has it.
  func bury(_ message: AMQPMessage, _ reason: BurialReason, _ log: Log) async -> Bool {
    let text = message.headers[JobMessage.reasonHeader]?.string ?? ""
    log.error("delivery buried", ["reason": .string(reason.rawValue), "cause": .string(text)])
    var message = message
    message.bury(DeadCause(reason), at: context.now())
    guard await publish(message, log) else { return false }
    metrics.dead.count(reason.rawValue)
    return true
  }

  /// Publishes until the broker confirms.
  ///
  /// - Returns: whether the broker confirmed at last.
  func publish(_ message: AMQPMessage, _ log: Log) async -> Bool {
    do {
      try await broker.publishSurely(message)
      return true
    } catch {
      log.error(
        "the delivery could not be published", ["queue": .string(message.routingKey), "cause": .failure(error)])
      return false
    }
  }
}
