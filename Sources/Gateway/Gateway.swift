import AMQP
import AppStore
import Configuration
import Domain
public import EventLoop
import HTTPServer
import JSON
import Ledger
import Messaging
import Observability
import Postgres
import Redis
public import Service
import Store

/// The role that accepts registrations over HTTP and answers requests for their status.
@LoopActor
public final class Gateway: Role {
  private let context: RoleContext
  private let routes: RouteTable
  private let store: PurchaseStore
  private let endpoints: WebhookEndpointStore
  private let deliveries: DeliveryLedger
  private let pacing: DeliveryPacing
  private let publisher: AMQPPublisher
  private let subscribers: EventSubscribers
  private let outlet: EventOutlet
  private let topology: Topology
  private let healthEndpoints: HealthEndpoints
  private let metrics: GatewayMetrics
  private let looks: ProvisionLooks
  private let redis: RedisClient
  private let ledger: PostgresClient
  private let secretKeys: SecretKeysWatch
  private let synchronizations: SynchronizationReader
  private let holdings: Holdings
  private let verifier: SignedDataVerifier
  private let evidence: EvidenceIntake
  private let waits: FinalizationWaits
  private let forgeries = ForgeryAllowance()
  private let keySets: KeySets
  private let replies: AMQPConsumer
  private let notifications: NotificationIntake
  private let unlistedProxies: UnlistedProxies
  private var server: HTTPServer?
  private var clock: Task<Void, Never>?

  /// Creates a gateway without starting it.
  ///
  /// - Parameter doors: those of this build.
  /// - Throws: `PostgresEndpoint.InvalidURL` without a usable `ledger.url`; `TrustedRoots.Unreadable` when a configured
  ///   root is no certificate.
  package init(_ context: RoleContext, doors known: [any GatewayDoor]) throws {
    self.context = context
    let routes = RouteTable(known)
    self.routes = routes
    let roots = context.settings.appStore.rootFiles
    let configured = roots.isEmpty ? nil : try TrustedRoots(files: roots)
    verifier = SignedDataVerifier(roots: configured ?? .apple)
    let doors = context.settings.gateway.doors
    evidence = EvidenceIntake(roots: configured, verifier, atOnce: doors.receiptsAtOnce)
    let redis = context.makeRedis()
    let ledger = try context.makeLedger()
    self.ledger = ledger
    let subscribers = EventSubscribers(context, ledger)
    self.subscribers = subscribers
    synchronizations = SynchronizationReader(ledger)
    holdings = Holdings(ledger)
    let store = PurchaseStore(redis, prefix: context.settings.redis.prefix)
    let topology = Topology(context.settings)
    let publisher = AMQPPublisher(
      { AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign gateway",
      onChange: context.observer(of: "publish"),
      declare: context.declaring(topology))
    outlet = EventOutlet(
      publisher, queue: topology.deliveries, subscribers, ledger, context.log,
      onReduced: EventOutlet.reducedEvents(context.metrics, context.doors.topics))
    // Our own API keeps half of the connections.
    let waits = FinalizationWaits(
      name: newSynchronizationId(), most: min(doors.maxWaiting, context.settings.gateway.maxConnections / 2))
    self.waits = waits
    replies = AMQPConsumer(
      { AMQPEndpoint(context.settings.rabbitmq) }, name: "countersign gateway replies",
      queue: topology.replies(to: waits.name), prefetch: 1000, onChange: context.observer(of: "replies"),
      declare: { try await topology.declareReplies(to: waits.name, on: $0) }, handler: { waits.take($0) })
    notifications = NotificationIntake(context, verifier, ledger, publisher, topology)
    unlistedProxies = UnlistedProxies(context.metrics, context.log)
    self.redis = redis
    self.store = store
    endpoints = context.makeEndpointStore(ledger)
    // Only the API of endpoints needs them. Purchases must not wait for a lost key.
    let secretKeys = SecretKeysWatch(context, ledger, isNeeded: false, namesKeys: false)
    self.secretKeys = secretKeys
    deliveries = DeliveryLedger(ledger)
    pacing = DeliveryPacing(redis, prefix: context.settings.redis.prefix)
    self.topology = topology
    self.publisher = publisher
    healthEndpoints = HealthEndpoints(
      metrics: context.metrics,
      checks: [
        .redis(redis), ReadinessCheck("rabbitmq") { publisher.trouble }, .ledger(ledger, isNeeded: false),
      ] + secretKeys.readiness)
    metrics = GatewayMetrics(context.metrics, routes, waiting: { Double(waits.count) })
    looks = ProvisionLooks(metrics.provisions)
    keySets = KeySets(context.metrics, context.log, publishers: { context.publishers })
  }

  public func start() async throws {
    redis.start()
    ledger.start()
    publisher.start()
    subscribers.start()
    replies.start()
    try await SchemaWait(ledger, context.log).start()
    keySets.start()
    await secretKeys.start()
    clock = context.followClock { [store] in try await store.time() }
    let settings = context.settings.gateway
    let authentication = authentication
    var configuration = settings.serverConfiguration(
      routes,
      asking: GatewaySettings.HeadQuestions(
        authenticator: { authentication.authenticator },
        refusalOfNotification: { [notifications] in notifications.refusal(of: $0) },
        onRefusedHead: { [unlistedProxies] in unlistedProxies.look(at: $0, behind: settings.trustedProxies) },
        onRefused: { [metrics] refusal, found in metrics.count(refusal, by: found.door.id, found.label) }))
    context.serverMetrics.observe(&configuration)
    let server = try HTTPServer(
      configuration,
      refuseBody: { [metrics, notifications, routes] path, reason in
        switch routes.largeBody(ofRaw: path) {
        case .receipt(let found):
          let refusal = found.door.refusal(of: reason, limit: settings.doors.maxBodyBytes)
          metrics.count(refusal, by: found.door.id, found.label)
          return CrossOrigin.admitted(refusal)
        case .notification: return notifications.refusal(of: reason).response
        // The bodies of our own API are never large, so there is always room.
        case nil: return Problem.tooLarge(settings.maxBodyBytes).response
        }
      },
      handler: { [weak self] in await self?.answer($0) ?? Problem.unavailable("The gateway is stopping.").response })
    self.server = server
    context.serverMetrics.server = server
    context.log.info("listening", ["address": .string("\(settings.listen.host):\(server.port)")])
  }

  public func refresh() { keySets.refresh() }

  public func stop(grace: Duration) async {
    await server?.close(grace: grace)
    clock?.cancel()
    keySets.stop()
    await secretKeys.stop(within: .zero)
    await publisher.stop()
    await subscribers.stop()
    await replies.stop()
    await redis.stop()
    await ledger.stop()
  }

  // MARK: One request

  private func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    let start = ContinuousClock.now
    unlistedProxies.look(at: request, behind: context.settings.gateway.trustedProxies)
    var label = RouteTable.unknownLabel
    let response: HTTPServerResponse
    if let preflight = CrossOrigin.preflight(request, routes.ofDoors) { return preflight }
    do {
      let (route, values) = try routes.find(request.method, request.path, rawPath: request.rawPath)
      label = route.label
      response = try await answer(route, values, request)
    } catch {
      response = routes.refusal(error, of: request)
    }
    metrics.requests.count(label, String(response.status))
    metrics.latency.observe((ContinuousClock.now - start).inSeconds, label)
    return response
  }

  private func answer(
    _ route: Route, _ values: [Route.Parameter: String], _ request: HTTPServerRequest
  ) async throws(Problem) -> HTTPServerResponse {
    let handler: Route.Handler
    let scope: TokenScope
    let admitsCustomers: Bool
    switch route.access {
    case .anyone(let answer): return answer(self, request)
    case .door(let door, takesReceipts: _, let answer):
      let response = await answer(doorContext, DoorCall(request: request, values: values))
      metrics.doors.count(door.rawValue, String(response.status))
      return CrossOrigin.admitted(response)
    case .apple(let answer): return try await answer(notifications, DoorCall(request: request, values: values))
    case .publisherOrCustomer(let wanted, let answer): (scope, handler, admitsCustomers) = (wanted, answer, true)
    case .publisher(let wanted, let answer): (scope, handler, admitsCustomers) = (wanted, answer, false)
    }
    let caller = try await authentication.caller(of: request)
    guard admitsCustomers || caller.customerId == nil else {
      throw .forbidden("This is done with the publisher's token, X-Publisher-Token, and not with a customer's.")
    }
    try caller.require(scope)
    let call = Call(request: request, caller: caller, values: values)
    guard route.method != .get, let token = caller.token else { return try await handler(self, call) }
    let answer: Result<HTTPServerResponse, Problem> = await AuditEntry.$requestToken.withValue(token.name) {
      do throws(Problem) { return .success(try await handler(self, call)) } catch { return .failure(error) }
    }
    return try answer.get()
  }

  private var authentication: Authentication { Authentication(context: context, keySets: keySets) }

  // MARK: The routes' handlers

  func health(_ request: HTTPServerRequest) -> HTTPServerResponse {
    healthEndpoints.answer(request) ?? Problem.unknownPath(request.path).response
  }

  func webhooks(for caller: Caller) -> WebhookAPI {
    WebhookAPI(
      context: context, store: endpoints, deliveries: deliveries, pacing: pacing, queue: publisher, topology: topology,
      publisher: caller.publisher)
  }

  func customers(for caller: Caller) -> CustomerAPI {
    CustomerAPI(context: context, ledger: CustomerStore(ledger), copies: store, publisher: caller.publisher)
  }

  func consents(for caller: Caller) -> ConsentAPI {
    ConsentAPI(context: context, consents: Consents(ledger), publisher: caller.publisher)
  }

  func refunds(for caller: Caller) -> RefundAPI {
    RefundAPI(context: context, answers: RefundAnswers(ledger), publisher: caller.publisher)
  }

  func audit(for caller: Caller) -> AuditAPI {
    AuditAPI(context: context, log: AuditLog(ledger), publisher: caller.publisher)
  }

  func purchases(for caller: Caller) -> PurchaseAPI {
    PurchaseAPI(
      context: context, ledger: ledger, holdings: holdings, outlet: outlet, caller: caller)
  }

  private var results: KeptResults { KeptResults(purchases: PurchaseReader(ledger)) }

  private var registration: Registration {
    Registration(
      context: context, store: store, customers: CustomerStore(ledger), synchronizations: synchronizations,
      results: results, verifier: verifier, publisher: publisher, topology: topology)
  }

  private var doorContext: DoorContext {
    DoorContext(
      context, authentication, evidence,
      DoorRegistration(
        context: context, registration: registration, waits: waits, replyTo: topology.replies(to: waits.name),
        synchronizations: synchronizations,
        provision: Provision(
          context: context, store: store, ledger: ledger, outlet: outlet, looks: looks)),
      ledger, holdings, outlet, forgeries)
  }

  func register(_ call: Call) async throws(Problem) -> HTTPServerResponse { try await accept(call, .registration) }

  /// Accepts a synchronization.
  func accept(_ call: Call, _ kind: Job.Kind) async throws(Problem) -> HTTPServerResponse {
    let trace = TraceParent(continuing: call.request.header("traceparent"))
    let counter = kind == .transfer ? metrics.transfers : metrics.registrations
    let answer: Registration.Answer
    do {
      answer = await registration.register(try RegistrationRequest(call.request), kind, by: call.caller, trace: trace)
    } catch {
      counter.count(error.code)
      throw error
    }
    switch answer {
    case .accepted(let id):
      counter.count(GatewayMetrics.accepted)
      var response = jsonResponse(202, written: JSONWriter.object { $0.member("synchronizationId", id) })
      response.headers.append(("Location", statusPath(id)))
      return response
    case .refused(_, let problem):
      counter.count(problem.code)
      throw problem
    }
  }

  func status(_ call: Call) async throws(Problem) -> HTTPServerResponse {
    let (id, caller) = (call[.synchronizationId], call.caller)
    guard Job.isSynchronizationId(id) else {
      throw .invalidPath("synchronizationId: expected 1 to 256 visible ASCII characters")
    }
    // The ledger comes first: a copy in Redis never knows of the end before the ledger does.
    let known = try await context.asking { try await self.synchronizations.synchronizations(caller.publisher.id, id) }
    var found = known.first { caller.mayActFor($0.customerId) }
    if found?.status != .finalized {
      found = try await context.asking { try await self.store.synchronization(caller.publisher.id, id) } ?? found
      // It was finalized in between. Redis knows that, and not the result.
      if found?.status == .finalized {
        found = try await context.asking { try await self.synchronizations.synchronizations(caller.publisher.id, id) }
          .first { caller.mayActFor($0.customerId) }
      }
    }
    guard let found, caller.mayActFor(found.customerId) else {
      throw .notFound(
        "This credential sees no synchronization with this id. A finalized one is kept for a time "
          + "(worker.statusRetentionSeconds), and a customer's token sees its own customer's only.")
    }
    let present = try await context.asking { [context] in
      try await self.results.atPresent(found, caller.publisher, now: context.now())
    }
    return StatusAnswer(present).response
  }
}
