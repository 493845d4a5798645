import AMQP
import Configuration
import Coordination
import Domain
public import EventLoop
import HTTP2
import Ledger
public import Service

/// The role that accepts registrations over HTTP and answers requests for their status.
@LoopActor
public final class Gateway: Role {
  let services: ServiceGroup
  private let keySets: KeySets

  /// Creates a gateway without starting it.
  ///
  /// - Parameter doors: those of this build.
  /// - Throws: `PostgresEndpoint.InvalidURL` without a usable `ledger.url`; `TrustedRoots.Unreadable` when a configured
  ///   root is no certificate.
  package init(_ context: RoleContext, doors: [any GatewayDoor]) throws {
    let parts = try GatewayParts(context, doors)
    let (ledger, redis, replies) = (parts.ledger, parts.redis, parts.replies)
    let publisher = ServiceAdapter(parts.publisher, "rabbitmq")
    // Only the API of endpoints needs them. Purchases must not wait for a lost key.
    let secretKeys = SecretKeysWatch(context, ledger.postgres, isNeeded: false, namesKeys: false)
    keySets = parts.keySets
    let checks =
      parts.redis.readiness + publisher.readiness + ledger.readiness + secretKeys.readiness + context.publisherReadiness
    let api = GatewayAPI(parts, HealthEndpoints(metrics: context.metrics, checks: checks))

    services = ServiceGroup([
      // It stops last, and sends the last spans.
      TraceExporter(context),
      // The clients. They close when the last request is answered: one may wait at a door for its reply until then, so
      // the consumer of replies takes them until the stop.
      ledger, parts.redis, FleetHeart(context, redis, checks: checks),
      ServiceAdapter(stop: { [apple = parts.apple] _ in apple.close() }),
      ServiceAdapter(start: { replies.start() }, stop: { _ in await replies.stop() }),
      parts.confirmed, parts.subscribers, publisher, parts.outlet.lost, ledger.schema,
      // What the handlers keep up to date.
      secretKeys, keySets, context.clockChore { try await redis.client.time() },
      // What runs beside the requests, or for longer than one.
      parts.looks, parts.reports, parts.exports, parts.eventWaits,
      // The server listens when everything is there, and is the first to stop: it gives the running requests the grace
      // period.
      GatewayServer(parts, api),
    ])
  }

  public func start() async throws { try await services.start() }

  public func refresh() { keySets.refresh() }

  public func stop(grace: Duration) async { await services.stop(within: grace) }
}
