import AMQP
import AppStore
import AppleCalls
import Configuration
import Coordination
import Domain
import EventLoop
import HTTP2
import Ledger
import Messaging
import Postgres
import Service

/// What the services and the handlers of a gateway share: its clients, and what works with several of them.
@LoopActor
struct GatewayParts {
  let context: RoleContext
  let routes: RouteTable
  let topology: Topology
  let redis: RoleRedis
  let claims: TransactionClaims
  let open: OpenSynchronizations
  let copies: CustomerCopies
  let ledger: RoleLedger
  let holdings: Holdings
  let endpoints: WebhookEndpointStore
  let deliveries: DeliveryLedger
  let pacing: EndpointPacing
  let subscribers: EventSubscribers
  let publisher: AMQPPublisher
  let confirmed: ConfirmedEvents
  let outlet: EventOutlet
  let waits: FinalizationWaits
  let eventWaits: EventWaits
  let exports: PublisherExports
  let reports = ImportReports()
  /// The consumer of replies, which end the waits.
  let replies: AMQPConsumer
  let verifier: SignedDataVerifier
  /// Asks Apple about order ids, and nothing else.
  let apple: HTTP2Client
  let orders: OrderLookups
  let evidence: EvidenceIntake
  let notifications: NotificationIntake
  let metrics: GatewayMetrics
  let looks: ProvisionLooks
  let unlistedProxies: UnlistedProxies
  let keySets: KeySets

  /// Makes the parts. Nothing is started.
  ///
  /// - Throws: `PostgresEndpoint.InvalidURL` without a usable `ledger.url`; `TrustedRoots.Unreadable` when a configured
  ///   root is no certificate.
  init(_ context: RoleContext, _ doors: [any GatewayDoor]) throws {
    let settings = context.settings
    self.context = context
    routes = RouteTable(doors)
    let topology = Topology(settings)
    self.topology = topology
    redis = RoleRedis(context, isNeeded: true)
    let prefix = settings.redis.prefix
    claims = TransactionClaims(redis.client, prefix: prefix)
    open = OpenSynchronizations(redis.client, prefix: prefix)
    copies = CustomerCopies(redis.client, prefix: prefix)
    ledger = try RoleLedger(context, isNeeded: false)
    holdings = Holdings(ledger.postgres)
    endpoints = context.makeEndpointStore(ledger.postgres)
    deliveries = DeliveryLedger(ledger.postgres)
    pacing = EndpointPacing(redis.client, prefix: prefix)
    subscribers = EventSubscribers(context, ledger.postgres)
    publisher = AMQPPublisher(
      { AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign gateway",
      onChange: context.observer(of: "publish"), declare: context.declaring(topology))
    confirmed = ConfirmedEvents(context, ledger.postgres)
    outlet = context.makeOutlet(publisher, subscribers, settle: { [confirmed] in confirmed.add($0) })
    // Our own API keeps half of the connections.
    let waits = FinalizationWaits(
      name: newSynchronizationId().text,
      most: min(settings.gateway.doors.maxWaiting, settings.gateway.maxConnections / 2))
    self.waits = waits
    let eventWaits = EventWaits(most: EventWaits.most(ofConnections: settings.gateway.maxConnections)) {
      [postgres = ledger.postgres] readers in
      postgres.isReady ? try await EventFeed(postgres).ready(readers) : []
    }
    self.eventWaits = eventWaits
    let exports = PublisherExports(context)
    self.exports = exports
    replies = AMQPConsumer(
      { AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign gateway replies",
      queue: topology.replies(to: waits.name), prefetch: 1000, probe: AMQPProbe(queue: topology.probe),
      onChange: context.observer(of: "replies"), declare: { try await topology.declareReplies(to: waits.name, on: $0) },
      handler: { waits.take($0) })
    let roots = try TrustedRoots.named(settings.appStore.rootFiles)
    verifier = SignedDataVerifier(roots: roots ?? .apple)
    apple = HTTP2Client(settings.appStore)
    orders = OrderLookups(
      AppStoreServerAPI(awaited: settings.appStore, apple, now: context.now),
      AwaitedCalls(
        settings.appStore, CallBudgets(redis.client, prefix: prefix), [.orderLookup], context.metrics, context.log,
        now: context.now), verifier)
    evidence = EvidenceIntake(
      roots: roots, verifier, atOnce: settings.gateway.doors.receiptsAtOnce, context.metrics)
    notifications = NotificationIntake(context, verifier, ledger.postgres, publisher, topology)
    metrics = GatewayMetrics(
      context.metrics, routes, waiting: { Double(waits.count) },
      waitingForEvents: { Double(eventWaits.count) }, exporting: { Double(exports.count) })
    looks = ProvisionLooks(metrics.provisions)
    unlistedProxies = UnlistedProxies(context.metrics, context.log, setting: GatewaySettings.trustedProxiesKey)
    keySets = KeySets(context.metrics, context.log, publishers: { context.publishers })
  }
}
