import Configuration
import Domain
import EventLoop
import HTTPServer
import Ledger
import Observability
import Postgres
import Service

/// Answers the requests to the console.
@LoopActor
final class ConsoleAPI {
  private let context: RoleContext
  private let health: HealthEndpoints
  private let signIn: SignIn
  private let postgres: PostgresClient
  private let holdings: Holdings
  private let metrics: ConsoleMetrics
  /// Of the public URL; `nil` if browsers reach the listener itself.
  private let origin: String?
  private let prefix: String
  private let cookie: SessionCookie

  init(
    _ context: RoleContext, _ health: HealthEndpoints, _ signIn: SignIn, _ postgres: PostgresClient,
    _ metrics: ConsoleMetrics
  ) {
    (self.context, self.health, self.signIn, self.postgres) = (context, health, signIn, postgres)
    self.metrics = metrics
    holdings = Holdings(postgres)
    let parts = context.settings.console.publicURL.flatMap(ConsoleSettings.parts)
    (origin, prefix) = (parts?.origin, parts?.path ?? "")
    cookie = SessionCookie(isSecure: origin?.hasPrefix("https://") ?? false, prefix: prefix)
  }

  func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    if let answer = health.answer(request) { return answer }
    guard let path = ownPath(request.path), let route = ConsoleRoute(path) else {
      return counted(ConsoleAnswer.text(404, "There is no such page."), "none")
    }
    let isRead = request.method == "GET" || request.method == "HEAD"
    guard isRead ? !route.isPost : request.method == "POST" && (route.isPost || route == .signIn) else {
      return counted(ConsoleAnswer.text(405, "The page does not take \(request.method)."), route.label)
    }
    if !isRead, !SameOrigin.admits(request, own: origin) {
      return counted(
        ConsoleAnswer.text(
          403, "The form does not come from a page of this console. Open the page, and send it again."),
        route.label)
    }
    do {
      return counted(try await answer(request, route), route.label)
    } catch {
      context.log.ledgerFailure("console failed", error)
      return counted(
        ConsoleAnswer.text(503, "The console could not read what the page shows. Load it again in a moment."),
        route.label)
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
    case .signIn:
      return request.method == "POST"
        ? try await signIn(request) : ConsoleAnswer.page(200, SignInPage(prefix: prefix, next: next(request)).html)
    case .signOut:
      if let token = cookie.token(of: request) { try await signIn.signOut(token) }
      return ConsoleAnswer.seeOther(Link(prefix, ["sign-in"]).address, cookie: cookie.header(nil))
    case .start, .find, .customer, .purchase: break
    }
    guard let token = cookie.token(of: request), let person = try await signIn.person(token) else {
      return unknown(request, route)
    }
    let view = ConsoleView(prefix: prefix, person: person, now: context.now())
    switch route {
    case .start: return ConsoleAnswer.page(200, FindPage(view: view).html)
    case .find(let isJSON): return try await find(request.query("q") ?? "", view, isJSON)
    case .customer(let key, let isJSON): return try await customer(key, view, isJSON)
    case .purchase(let key, let isJSON): return try await purchase(key, view, isJSON)
    case .signIn, .signOut, .style: return ConsoleAnswer.text(404, "There is no such page.")
    }
  }

  // MARK: Signing in

  /// Sends who has no session to the sign-in, and from there back.
  private func unknown(_ request: HTTPServerRequest, _ route: ConsoleRoute) -> HTTPServerResponse {
    switch route {
    case .find(isJSON: true), .customer(_, isJSON: true), .purchase(_, isJSON: true):
      return ConsoleAnswer.text(401, "Sign in first.")
    default:
      let query = request.query.map { (name: $0.name, value: $0.value) }
      let next = Link(prefix, ownPath(request.path) ?? [], query: query).address
      let isStart = route == .start
      return ConsoleAnswer.seeOther(Link(prefix, ["sign-in"], query: isStart ? [] : [("next", next)]).address)
    }
  }

  private func next(_ request: HTTPServerRequest) -> String { request.query("next") ?? "" }

  /// The address to go on to: a page of the console, whatever somebody wrote.
  nonisolated static func destination(_ next: String, _ prefix: String) -> String {
    let isOwn =
      next.hasPrefix(prefix + "/") && !next.hasPrefix("//") && next.utf8.count <= 2048
      && next.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") }
    return isOwn ? next : prefix + "/"
  }

  private func signIn(_ request: HTTPServerRequest) async throws -> HTTPServerResponse {
    guard let form = FormBody(request.body), let name = form["name"], let password = form["password"],
      name.utf8.count <= 100, password.utf8.count <= PasswordLine.lengths.upperBound
    else { return ConsoleAnswer.text(400, "The form is not complete. Open the page, and send it again.") }
    let answer = try await signIn.signIn(name, password, from: AddressGroup(request.origin.client).text)
    metrics.signIns.count(answer.label)
    var page = SignInPage(prefix: prefix, next: form["next"] ?? "", name: name)
    switch answer {
    case .signedIn(let token):
      return ConsoleAnswer.seeOther(Self.destination(page.next, prefix), cookie: cookie.header(token))
    case .refused:
      page.mistake = "Name or password is wrong."
      return ConsoleAnswer.page(401, page.html)
    case .tooOften:
      page.mistake = "Too many attempts. Try again in 15 minutes."
      return ConsoleAnswer.page(429, page.html)
    }
  }

  // MARK: Pages

  private func find(_ text: String, _ view: ConsoleView, _ isJSON: Bool) async throws -> HTTPServerResponse {
    let text = String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    let publishers = context.publishers.all.map(\.id).filter(view.person.sees)
    let hits = try await ConsoleFinder(postgres).find(
      text, among: publishers, FindPage.kinds(of: text, view.person.role))
    let page = FindPage(view: view, text: text, hits: hits)
    if isJSON { return ConsoleAnswer.json(200, page.json) }
    if let only = page.only { return ConsoleAnswer.seeOther(only.address) }
    return ConsoleAnswer.page(hits.isEmpty && !text.isEmpty ? 404 : 200, page.html)
  }

  private func customer(
    _ key: CustomerKey, _ view: ConsoleView, _ isJSON: Bool
  ) async throws -> HTTPServerResponse {
    guard view.person.sees(key.publisherId), let publisher = context.publishers[key.publisherId] else {
      return nothing(view, isJSON)
    }
    guard view.person.role.seesPersonalData else {
      let text = "A viewer sees no personal data. Ask somebody with the role support."
      return isJSON
        ? ConsoleAnswer.text(403, text) : ConsoleAnswer.page(403, Layout.message("Not for viewers", view, text))
    }
    async let found = holdings.holdings(of: key)
    async let record = CustomerStore(postgres).customer(key.publisherId, key.id)
    async let purchases = PurchaseReader(postgres).allPurchases(of: key, limit: CustomerPage.mostPurchases)
    async let moments = ConsoleTimeline(postgres).moments(of: key, limit: CustomerPage.mostMoments)
    guard try await found.isKnown else { return nothing(view, isJSON) }
    let page = CustomerPage(
      view: view, customer: key, email: try await record?.email, rules: publisher.accessRules(for: key.id),
      holdings: try await found, purchases: try await purchases, moments: try await moments)
    return isJSON ? ConsoleAnswer.json(200, page.json) : ConsoleAnswer.page(200, page.html)
  }

  private func purchase(
    _ key: PurchaseKey, _ view: ConsoleView, _ isJSON: Bool
  ) async throws -> HTTPServerResponse {
    guard view.person.sees(key.publisherId), let publisher = context.publishers[key.publisherId] else {
      return nothing(view, isJSON)
    }
    async let found = PurchaseReader(postgres).purchase(
      key.publisherId, key.originalTransactionId, in: [key.environment])
    async let notifications = ConsoleTimeline(postgres).notifications(of: key, limit: PurchasePage.most)
    async let evidence = ConsoleEvidence.newest(of: key, limit: PurchasePage.most, postgres)
    guard let record = try await found else { return nothing(view, isJSON) }
    let owner = record.ownerships.last { $0.endedAt == nil }?.customerId
    let page = PurchasePage(
      view: view, record: record, rules: publisher.accessRules(for: owner ?? .nobody),
      notifications: try await notifications, evidence: try await evidence)
    return isJSON ? ConsoleAnswer.json(200, page.json) : ConsoleAnswer.page(200, page.html)
  }

  /// The same whether nothing is there, or somebody else's.
  private func nothing(_ view: ConsoleView, _ isJSON: Bool) -> HTTPServerResponse {
    let text = "Nothing with this id is here, or it belongs to a publisher that you may not see."
    return isJSON
      ? ConsoleAnswer.text(404, text) : ConsoleAnswer.page(404, Layout.message("Nothing is here", view, text))
  }
}
