import AMQP
import Configuration
import Domain
public import EventLoop
import HTTPClient
import Ledger
import Messaging
public import Service

/// The role that delivers events to the publishers' webhook endpoints.
@LoopActor
public final class Notifier: Role {
  let services: ServiceGroup

  /// Creates a notifier without starting it.
  ///
  /// - Throws: `PostgresEndpoint.InvalidURL` without a usable `ledger.url`.
  public init(_ context: RoleContext) throws {
    let parts = try NotifierParts(context)
    let dependencies = DeliveryRun.Dependencies(parts)
    let (ledger, recorder, most) = (parts.ledger, parts.recorder, context.settings.notifier.concurrency)
    let publisher = ServiceAdapter(parts.publisher, "rabbitmq publish")
    let secretKeys = SecretKeysWatch(context, ledger.postgres, isNeeded: true, namesKeys: true)
    // Without Redis or the ledger the notifier still delivers to the endpoints that it knows, until as many records
    // wait for the ledger as it may hold deliveries. Then it takes no more.
    let records = ServiceAdapter(
      readiness: [
        ReadinessCheck("records") { recorder.waiting < most ? nil : "\(recorder.waiting) wait for the ledger" }
      ], stop: { _ in recorder.close() })
    let runs = DeliveryRuns(DeliveryRuns.Dependencies(dependencies), parts.running, parts.line)
    let consumers = EventCrowd.allCases.map { crowd in
      ServiceAdapter(
        AMQPConsumer(
          { AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign notifier consumes \(crowd.rawValue)",
          queue: parts.topology.deliveries(crowd), prefetch: most, probe: AMQPProbe(queue: parts.topology.probe),
          onChange: context.observer(of: crowd.consumption),
          declare: context.declaring(parts.topology), handler: { runs.take($0, of: crowd) }),
        "rabbitmq \(crowd.consumption)")
    }

    let checks =
      parts.redis.readiness + ledger.readiness + secretKeys.readiness + records.readiness + publisher.readiness
      + consumers.flatMap(\.readiness) + runs.readiness + context.publisherReadiness
    services = ServiceGroup(
      [
        // It stops last, and sends the last spans.
        TraceExporter(context), HealthServer(context, at: context.settings.notifier.listen, checks: checks),
        // The clients. They close in the reverse order: what an attempt leaves to record is recorded before the ledger
        // closes, and the slots are renewed until the last attempt has ended.
        ServiceAdapter(stop: { [client = parts.client] _ in client.close() }), parts.redis,
        FleetHeart(context, parts.redis, checks: checks), ledger, records,
        dependencies.underWay, parts.confirmed, parts.subscribers, publisher, ledger.schema, secretKeys,
        // The channels close when every acknowledgement is sent. No delivery comes after the first round of the stop.
      ] + consumers + [
        // What only repairs. Nothing waits for it.
        QueueDepths.chore(context, parts.publisher, of: EventCrowd.allCases.map(parts.topology.deliveries)),
        parts.attemptLog, DeliverySweep.chore(parts), parts.outlet.lost, runs,
      ])
  }

  public func start() async throws { try await services.start() }

  public func stop(grace: Duration) async { await services.stop(within: grace) }
}

extension EventCrowd {
  /// The name of the connection that consumes the crowd's queue.
  fileprivate var consumption: String {
    switch self {
    case .few: "consume"
    case .burst, .flood: "consume \(rawValue)"
    }
  }
}
