import AppStore
import AppleCalls
import Configuration
import Coordination
import Domain
public import EventLoop
import HTTP2
import Ledger
import Redis
public import Service

/// The role that shows people why a customer has access: pages, rendered here, which work without a script.
///
/// It reads the ledger on connections of its own, whose statements have a time limit. So it costs the workers nothing.
@LoopActor
public final class Console: Role {
  let services: ServiceGroup
  private let people: PeopleFile

  /// Creates a console without starting it.
  ///
  /// - Throws: `PostgresEndpoint.InvalidURL` without a usable `ledger.url`; `TrustedRoots.Unreadable` when a configured
  ///   root is no certificate; the cause if the file of users, or that of roles, cannot be used.
  public init(_ context: RoleContext) throws {
    let settings = context.settings
    let people = try PeopleFile(context)
    self.people = people
    let redis = RoleRedis(context, isNeeded: true)
    let ledger = try RoleLedger(context, isNeeded: true, statementTimeout: settings.console.statementTimeout)
    let sessions = ConsoleSessions(redis.client, prefix: settings.redis.prefix)
    let checks = redis.readiness + ledger.readiness + context.publisherReadiness
    let health = HealthEndpoints(metrics: context.metrics, checks: checks)
    let apple = HTTP2Client(settings.appStore)
    let budgets = CallBudgets(redis.client, prefix: settings.redis.prefix)
    let appStore = AppStoreServerAPI(awaited: settings.appStore, apple, now: context.now)
    let asked = AwaitedCalls(
      settings.appStore, budgets, [.orderLookup, .subscriptionStatuses, .transactionInfo], context.metrics,
      context.log, now: context.now)
    let verifier = SignedDataVerifier(roots: try .named(settings.appStore.rootFiles) ?? .apple)
    let signIn = try SignIn(context, people, sessions, ledger.postgres)
    let provider = people.openID.map { OpenIDProvider($0, context.log) }
    let metrics = ConsoleMetrics(context.metrics)
    let api = ConsoleAPI(
      context, health, signIn, provider.map { OpenIDSignIn(context, people, signIn, $0) },
      settings.console.proxy.map { ProxySignIn($0, people, context.log, metrics) }, ledger.postgres,
      OrderLookups(appStore, asked, verifier), PurchaseLookups(appStore, asked, verifier), redis.client, metrics,
      TestNotifications(settings.appStore, apple, budgets, now: context.now),
      settings.console.playsLives ? SimulatedLives(settings.appStore, apple) : nil)
    let calls = ServiceAdapter(stop: { _ in
      apple.close()
      provider?.close()
    })
    // The exporter stops last, and sends the last spans.
    let first: [any RoleService] =
      [TraceExporter(context), calls, ledger, redis, FleetHeart(context, redis, checks: checks), ledger.schema]
      + people.chores
    services = ServiceGroup(
      first + [
        context.clockChore { try await redis.client.time() },
        // The server listens when everything is there, and is the first to stop.
        ConsoleServer(context, api),
      ])
  }

  public func start() async throws { try await services.start() }

  public func refresh() { people.lookNow() }

  public func stop(grace: Duration) async { await services.stop(within: grace) }
}
