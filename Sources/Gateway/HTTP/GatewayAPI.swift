import AMQP
import AppStore
import Configuration
import Coordination
import Domain
import EventLoop
import HTTPServer
import Ledger
import Messaging
import Observability
import Postgres
import Service

/// Answers the requests to a gateway: finds the route and the caller, and lets the handler answer.
@LoopActor
final class GatewayAPI {
  private let parts: GatewayParts
  private let healthEndpoints: HealthEndpoints
  private let refusals = RefusalAllowance()
  private let limit: RequestLimit

  init(_ parts: GatewayParts, _ healthEndpoints: HealthEndpoints) {
    (self.parts, self.healthEndpoints) = (parts, healthEndpoints)
    limit = RequestLimit(
      parts.context, RequestRates(parts.redis.client, prefix: parts.context.settings.redis.prefix), parts.metrics)
  }

  private var context: RoleContext { parts.context }
  private var postgres: PostgresClient { parts.ledger.postgres }

  // MARK: One request

  /// Answers a request, and counts the answer.
  func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    let start = ContinuousClock.now
    let span = RequestSpan(of: request, context.tracer)
    let request = span?.request ?? request
    parts.unlistedProxies.look(at: request)
    var label = RouteTable.unknownLabel
    let response: HTTPServerResponse
    if let preflight = CrossOrigin.preflight(request, parts.routes.ofDoors) { return preflight }
    do {
      let (route, values) = try parts.routes.find(request.method, request.path, rawPath: request.rawPath)
      label = route.label
      response = try await answer(route, values, request)
    } catch {
      response = parts.routes.refusal(error, of: request)
    }
    parts.metrics.requests.count(label, String(response.status))
    parts.metrics.latency.observe((ContinuousClock.now - start).inSeconds, label)
    span?.end(label, response.status, since: start)
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
      parts.metrics.doors.count(door.rawValue, String(response.status))
      return CrossOrigin.admitted(response)
    case .apple(let answer): return try await answer(parts.notifications, DoorCall(request: request, values: values))
    case .publisherOrCustomer(let wanted, let answer): (scope, handler, admitsCustomers) = (wanted, answer, true)
    case .publisher(let wanted, let answer): (scope, handler, admitsCustomers) = (wanted, answer, false)
    }
    let caller = try await authentication.caller(of: request)
    guard admitsCustomers || caller.customerId == nil else {
      throw .forbidden("This is done with the publisher's token, X-Publisher-Token, and not with a customer's.")
    }
    try caller.require(scope)
    if route.method == .get {
      try await limit.admit(caller)
    } else if !admitsCustomers {
      // The others are registrations, which have limits of their own.
      try await limit.admitWrite(caller.publisher, bytes: request.body.count)
    }
    let call = Call(request: request, caller: caller, values: values)
    guard route.method != .get, let token = caller.token else { return try await handler(self, call) }
    let answer: Result<HTTPServerResponse, Problem> = await AuditEntry.$requestToken.withValue(token.name) {
      do throws(Problem) { return .success(try await handler(self, call)) } catch { return .failure(error) }
    }
    return try answer.get()
  }

  var authentication: Authentication { Authentication(context: context, keySets: parts.keySets) }

  // MARK: The routes' handlers

  func health(_ request: HTTPServerRequest) -> HTTPServerResponse {
    healthEndpoints.answer(request) ?? Problem.unknownPath(request.path).response
  }

  func webhooks(for caller: Caller) -> WebhookAPI {
    WebhookAPI(
      context: context, store: parts.endpoints, deliveries: parts.deliveries, pacing: parts.pacing,
      metrics: parts.metrics, queue: parts.publisher, topology: parts.topology, publisher: caller.publisher)
  }

  func customers(for caller: Caller) -> CustomerAPI {
    CustomerAPI(context: context, ledger: CustomerStore(postgres), copies: parts.copies, publisher: caller.publisher)
  }

  func consents(for caller: Caller) -> ConsentAPI {
    ConsentAPI(context: context, consents: Consents(postgres), publisher: caller.publisher)
  }

  func grants(for caller: Caller) -> GrantAPI {
    GrantAPI(
      context: context, grants: Grants(postgres), outlet: parts.outlet, metrics: parts.metrics,
      publisher: caller.publisher)
  }

  func sandboxOverrides(for caller: Caller) -> SandboxOverrideAPI {
    SandboxOverrideAPI(
      context: context, overrides: SandboxOverrides(postgres), outlet: parts.outlet, metrics: parts.metrics,
      publisher: caller.publisher)
  }

  func imports(for caller: Caller) -> ImportAPI {
    ImportAPI(
      context: context, store: ImportStore(postgres), parts: ImportParts(postgres), reports: parts.reports,
      metrics: parts.metrics, caller: caller)
  }

  func refunds(for caller: Caller) -> RefundAPI {
    RefundAPI(context: context, answers: RefundAnswers(postgres), publisher: caller.publisher)
  }

  func orders(for caller: Caller) -> OrderAPI {
    OrderAPI(
      context: context, orders: parts.orders, reader: PurchaseReader(postgres), limit: limit, metrics: parts.metrics,
      publisher: caller.publisher)
  }

  func audit(for caller: Caller) -> AuditAPI {
    AuditAPI(context: context, log: AuditLog(postgres), publisher: caller.publisher)
  }

  func events(for caller: Caller) -> EventsAPI {
    EventsAPI(
      context: context, feed: EventFeed(postgres), waits: parts.eventWaits, metrics: parts.metrics,
      publisher: caller.publisher)
  }

  func export(for caller: Caller) -> ExportAPI {
    ExportAPI(
      context: context, exports: parts.exports, postgres: postgres, metrics: parts.metrics,
      publisher: caller.publisher)
  }

  func purchases(for caller: Caller) -> PurchaseAPI {
    PurchaseAPI(
      context: context, postgres: postgres, holdings: parts.holdings, outlet: parts.outlet, caller: caller)
  }

  func synchronizations(for caller: Caller) -> SynchronizationAPI {
    SynchronizationAPI(context: context, registration: registration, metrics: parts.metrics, caller: caller)
  }

  private var registration: Registration {
    Registration(
      context: context, claims: parts.claims, open: parts.open, copies: parts.copies,
      customers: CustomerStore(postgres),
      synchronizations: SynchronizationReader(postgres), results: KeptResults(purchases: PurchaseReader(postgres)),
      verifier: parts.verifier, publisher: parts.publisher, topology: parts.topology, metrics: parts.metrics)
  }

  private var doorContext: DoorContext {
    DoorContext(
      context, authentication, parts.evidence,
      DoorRegistration(
        context: context, registration: registration, waits: parts.waits,
        replyTo: parts.topology.replies(to: parts.waits.name), synchronizations: SynchronizationReader(postgres),
        provision: Provision(parts)),
      postgres, parts.holdings, parts.outlet, refusals, limit)
  }
}
