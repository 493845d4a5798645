import AppleCalls
import Configuration
import Coordination
import Domain
import EventLoop
import HTTPServer
import Ledger
import Observability
import Postgres
import Redis
import Service

/// Answers the requests to the console.
@LoopActor
final class ConsoleAPI {
  let context: RoleContext
  private let health: HealthEndpoints
  let signIn: SignIn
  /// `nil` if no provider is named.
  let openID: OpenIDSignIn?
  let postgres: PostgresClient
  let holdings: Holdings
  let orders: OrderLookups
  let lookups: PurchaseLookups
  let copies: CustomerCopies
  let endpoints: ConsoleEndpoints
  let deliveries: DeliveryLedger
  let endpointStore: WebhookEndpointStore
  let pacing: EndpointPacing
  /// The synchronizations under way.
  let open: OpenSynchronizations
  /// The processes of the fleet.
  let beats: FleetBeats
  /// The jobs that wait for a call to Apple, and what is left of the budgets.
  let line: CallLine
  let budgets: CallBudgets
  let redis: RedisClient
  let tests: TestNotifications
  /// `nil` if nothing stands in for Apple here.
  let lives: SimulatedLives?
  /// Each timeline takes a connection for a while, so one connection at least stays for the rest.
  let timelines: ConsoleLine
  let metrics: ConsoleMetrics
  /// Of the public URL; `nil` if browsers reach the listener itself.
  private let origin: String?
  let prefix: String
  let cookie: SessionCookie

  init(
    _ context: RoleContext, _ health: HealthEndpoints, _ signIn: SignIn, _ openID: OpenIDSignIn?,
    _ postgres: PostgresClient, _ orders: OrderLookups, _ lookups: PurchaseLookups, _ redis: RedisClient,
    _ metrics: ConsoleMetrics, _ tests: TestNotifications, _ lives: SimulatedLives? = nil
  ) {
    (self.tests, self.lives) = (tests, lives)
    (self.context, self.health, self.signIn, self.postgres) = (context, health, signIn, postgres)
    (self.openID, self.orders, self.lookups) = (openID, orders, lookups)
    (self.metrics, self.redis) = (metrics, redis)
    let keys = context.settings.redis.prefix
    copies = CustomerCopies(redis, prefix: keys)
    pacing = EndpointPacing(redis, prefix: keys)
    open = OpenSynchronizations(redis, prefix: keys)
    (beats, line) = (FleetBeats(redis, prefix: keys), CallLine(redis, prefix: keys))
    budgets = CallBudgets(redis, prefix: keys)
    (holdings, endpoints, deliveries) = (Holdings(postgres), ConsoleEndpoints(postgres), DeliveryLedger(postgres))
    endpointStore = context.makeEndpointStore(postgres)
    timelines = ConsoleLine(
      ConsoleTurns.Limits(atOnce: max(1, context.settings.ledger.connections - 1), waiting: 16, ofOwner: 4))
    let parts = context.settings.console.publicURL.flatMap(ConsoleSettings.parts)
    (origin, prefix) = (parts?.origin, parts?.path ?? "")
    cookie = SessionCookie(isSecure: origin?.hasPrefix("https://") ?? false, prefix: prefix)
  }

  func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    if let answer = health.answer(request) { return answer }
    guard let path = ownPath(request.path), let route = ConsoleRoute(path) else {
      return counted(ConsoleAnswer.text(404, "There is no such page."), "none")
    }
    guard route.methods.contains(request.method) else {
      return counted(
        ConsoleAnswer.text(405, "The page does not take \(request.method).", [("Allow", route.allowed)]), route.label)
    }
    if request.method == "POST", !SameOrigin.admits(request, own: origin) {
      return counted(
        ConsoleAnswer.text(
          403, "The form does not come from a page of this console. Open the page, and send it again."),
        route.label)
    }
    do {
      let answer = try await AuditEntry.$personAddress.withValue(request.origin.client) {
        try await self.answer(request, route)
      }
      return counted(answer, route.label)
    } catch {
      log("console failed", error)
      return counted(
        ConsoleAnswer.text(503, "The console could not read what the page shows. Load it again in a moment."),
        route.label)
    }
  }

  /// Logs a failure. While a server is away, its connections say so once, and not each request.
  func log(_ event: String, _ error: any Error) {
    if let error = error as? RedisError, error.isToldOnce {
      context.log.debug(event, ["cause": .failure(error)])
    } else {
      context.log.ledgerFailure(event, error)
    }
  }

  private func counted(_ answer: HTTPServerResponse, _ page: String) -> HTTPServerResponse {
    metrics.requests.count(page, "\(answer.status)")
    return answer
  }

  /// The path behind the prefix; `nil` for a path without it.
  private func ownPath(_ path: [String]) -> [String]? {
    let before = prefix.split(separator: "/").map(String.init)
    guard path.count >= before.count, zip(path, before).allSatisfy(==) else { return nil }
    return Array(path.dropFirst(before.count))
  }

  private func answer(_ request: HTTPServerRequest, _ route: ConsoleRoute) async throws -> HTTPServerResponse {
    switch route {
    case .style: return ConsoleAnswer.style()
    case .script: return ConsoleAnswer.script()
    case .signIn: return request.method == "POST" ? try await signIn(request) : signInPage(request)
    case .signOut: return try await signOut(request)
    case .openID: return try await beginOpenID(request)
    case .openIDReturn: return try await endOpenID(request)
    case .page(let page, let isJSON):
      guard let person = try await person(of: request) else {
        return isJSON ? ConsoleAnswer.text(401, "Sign in first.") : toSignIn(self.page(of: request))
      }
      let reader = ConsoleReader(view: view(person, request), isJSON: isJSON)
      do {
        return try await show(page, request, reader)
      } catch let refusal as ConsoleRefusal {
        return reader.answer(to: refusal)
      }
    case .action(let action):
      guard let person = try await person(of: request) else { return toSignIn(Link(prefix, action.page.segments)) }
      return try await act(action, request, ConsoleReader(view: view(person, request), page: action.page.segments))
    case .order:
      guard let person = try await person(of: request) else { return toSignIn(Link(prefix, [])) }
      return try await order(request, ConsoleReader(view: view(person, request)))
    }
  }

  /// A page, for somebody who has signed in.
  func show(
    _ page: ConsoleRoute.Page, _ request: HTTPServerRequest, _ reader: ConsoleReader
  ) async throws -> HTTPServerResponse {
    switch page {
    case .find: return try await find(request.query("q") ?? "", reader)
    case .customer(let key): return try await customer(key, reader)
    case .purchase(let key): return try await purchase(key, reader)
    case .list(let list): return try await self.list(list, request, reader)
    case .endpoint(let key): return try await endpoint(key, request, reader)
    case .event(let key): return try await event(key, reader)
    case .notification(let key): return try await notification(key, reader)
    case .synchronization(let key): return try await synchronization(key, reader)
    case .testNotification: return try await testedNotification(request, reader)
    case .play: return play(reader)
    case .life(let key): return try await life(key, request, reader)
    }
  }

  /// Who has the session of a request; `nil` if it has none.
  private func person(of request: HTTPServerRequest) async throws -> ConsolePerson? {
    guard let token = cookie.token(of: request) else { return nil }
    return try await signIn.person(token, isRefresh: request.isRefresh)
  }

  private func view(_ person: ConsolePerson, _ request: HTTPServerRequest) -> ConsoleView {
    ConsoleView(
      prefix: prefix, person: person, now: context.now(), playsLives: lives != nil,
      canBeReadAgain: request.canBeReadAgain)
  }

  /// Sends somebody without a session to the sign-in, and from there back to a page.
  private func toSignIn(_ page: Link) -> HTTPServerResponse {
    let isStart = page == Link(prefix, [])
    return ConsoleAnswer.seeOther(Link(prefix, ["sign-in"], query: isStart ? [] : [("next", page.address)]).address)
  }

  /// The page that a request is for.
  private func page(of request: HTTPServerRequest) -> Link {
    let path = (ownPath(request.path) ?? []).map(Link.text(ofSegment:))
    return Link(prefix, path, query: request.query.map { (name: $0.name, value: $0.value) })
  }
}

extension RedisError {
  /// Whether the connection's own lines tell it: Redis is away, or takes no writes.
  var isToldOnce: Bool { code != .reply || refusal != nil }
}
