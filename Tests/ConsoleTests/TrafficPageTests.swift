import Coordination
import Crypto
import Domain
import DomainSupport
import Ledger
import Testing

@testable import Console

/// Webhooks, notifications and synchronizations as text: what a stranger wrote is escaped, and a viewer sees no
/// customer.
struct TrafficPageTests {
  private static let evil = "<script>alert('x')</script>\"&"
  private static let secret = "customer-secret"
  private static let now = AnsweredPurchases.now

  private static func view(_ role: ConsoleRole = .support) throws -> ConsoleView {
    let person = ConsolePerson(name: "ada", role: role, publishers: .all, password: try Scrypt.ofNobody())
    return ConsoleView(prefix: "/c", person: person, now: now)
  }

  private static func question(_ filters: [String: String] = [:]) -> ListQuestion {
    ListQuestion(choices: [7], filters: filters)
  }

  private static func attempt(
    _ text: String, number: Int = 1, _ result: DeliveryAttempt.Result = .failed, nextAt: Int64? = nil
  ) -> DeliveryAttempt {
    DeliveryAttempt(
      eventId: EventId(text), endpointId: EndpointId(text), topic: EventTopic(text), number: number, time: now - 60_000,
      status: 500, durationMilliseconds: 12, error: text, answer: text, result: result, nextAt: nextAt)
  }

  private static func endpoint(_ text: String, source: String = "api") -> ConsoleEndpoint {
    ConsoleEndpoint(
      publisherId: 7, id: EndpointId(text), url: "https://user:\(text)@hook.example/\(text)?k=\(text)", name: text,
      topics: [EventTopic(text)], source: source, createdAt: now)
  }

  private static func endpointPage(
    _ text: String, _ view: ConsoleView, _ state: ConsoleEndpoint.State = ConsoleEndpoint.State(),
    backlog: ConsoleEndpoint.Backlog? = ConsoleEndpoint.Backlog(waiting: 3, oldest: now - 7_200_000),
    next: String? = nil
  ) -> EndpointPage {
    EndpointPage(
      view: view, endpoint: endpoint(text), state: state, backlog: backlog,
      attempts: AttemptPage(entries: [AttemptPage.Entry(attempt(text), cursor: "1-1")], next: next))
  }

  private static func eventPage(
    _ text: String, _ view: ConsoleView, _ state: ConsoleEndpoint.State = ConsoleEndpoint.State()
  ) -> EventDetailPage {
    let event = Event(
      id: EventId(text), publisherId: 7, customerId: CustomerId(text), topic: EventTopic(text), time: now,
      body: Array("{\"\(text)\":1}".utf8))
    return EventDetailPage(
      view: view,
      event: ConsoleEvent(
        publisherId: 7, id: EventId(text), event: event, isInOutbox: true,
        open: [ConsoleEvent.OpenDelivery(endpointId: EndpointId(text), attempt: 2, dueAt: now + 300_000)]),
      endpoints: [EndpointsPage.Row(endpoint: endpoint(text), state: state)], attempts: [attempt(text)])
  }

  private static func notification(
    _ text: String, _ state: ConsoleNotification.State = .applied, appliedAt: Int64? = now
  ) -> ConsoleNotification {
    ConsoleNotification(
      publisherId: 7, uuid: NotificationUUID(text), type: text, subtype: text, environment: Environment(text),
      bundleId: BundleId(text), originalTransactionId: OriginalTransactionId(text), signedDate: now - 65_000,
      receivedAt: now, state: state, appliedAt: appliedAt, reason: text)
  }

  private static func synchronization(_ text: String, finalizedAt: Int64? = nil) -> ConsoleSynchronization {
    ConsoleSynchronization(
      publisherId: 7, id: SynchronizationId(text), transactionId: TransactionId(text), customerId: CustomerId(text),
      kind: text, dueAt: finalizedAt == nil ? now + 60_000 : nil, registeredAt: finalizedAt == nil ? now : nil,
      finalizedAt: finalizedAt, result: finalizedAt.map { _ in text }, eventId: finalizedAt.map { _ in EventId(text) })
  }

  private static func synchronizationPage(_ text: String, _ view: ConsoleView, _ finalizedAt: Int64? = nil)
    -> SynchronizationPage
  {
    SynchronizationPage(
      view: view, key: SynchronizationsKey(publisherId: 7, id: SynchronizationId(text)),
      found: [synchronization(text, finalizedAt: finalizedAt)],
      progress: SynchronizationProgress(status: .retrying, cause: .unauthorized))
  }

  private static func pages(_ text: String, _ view: ConsoleView) -> [(html: Document, json: [UInt8])] {
    let endpoints = EndpointsPage(
      view: view, question: question(),
      found: ConsoleRows([EndpointsPage.Row(endpoint: endpoint(text), state: ConsoleEndpoint.State())]))
    let notifications = NotificationsPage(
      view: view, question: question(), found: ConsoleRows([notification(text)], next: ConsolePlace(1, 7, text)))
    let one = NotificationPage(view: view, notification: notification(text, .putAside, appliedAt: nil))
    let synchronizations = SynchronizationsPage(
      view: view, question: question(), found: ConsoleRows([synchronization(text)]),
      progress: [SynchronizationProgress(status: .retrying, cause: .network)])
    let (endpoint, event) = (endpointPage(text, view), eventPage(text, view))
    let (open, over) = (synchronizationPage(text, view), synchronizationPage(text, view, now))
    return [
      (endpoints.html, endpoints.json), (endpoint.html, endpoint.json), (event.html, event.json),
      (notifications.html, notifications.json), (one.html, one.json), (synchronizations.html, synchronizations.json),
      (open.html, open.json), (over.html, over.json),
    ]
  }

  @Test func `markup stays text on every page`() throws {
    for role in [ConsoleRole.support, .operator] {
      for (number, page) in Self.pages(Self.evil, try Self.view(role)).enumerated() {
        #expect(!page.html.contains("<script") && !page.html.contains("alert('x')"), "page \(number)")
        #expect(page.html.contains("&lt;script&gt;") && !page.html.contains("style="), "page \(number)")
      }
    }
    let preview = ActionPreview(
      view: try Self.view(), title: Self.evil, above: Self.evil, facts: [("To", .text(Self.evil))], words: Self.evil,
      action: try Self.view().link([Self.evil]), fields: [("round", Self.evil)], button: Self.evil,
      back: try Self.view().link([]), refusal: Self.evil
    ).html
    #expect(!preview.contains("<script") && preview.contains("&lt;script&gt;"))
  }

  @Test func `a viewer sees neither a customer nor an answer`() throws {
    let viewer = try Self.view(.viewer)
    // The ids of everything else are the viewer's to see, so only what names the customer has the text.
    let attempt = DeliveryAttempt(
      eventId: "evt", endpointId: "ep", topic: "t", number: 1, time: 0, status: 500, answer: Self.secret,
      result: .failed)
    let event = Event(
      id: "evt", publisherId: 7, customerId: CustomerId(Self.secret), topic: "t", time: 0,
      body: Array("{\"customerId\":\"\(Self.secret)\"}".utf8))
    func page(_ view: ConsoleView) -> EventDetailPage {
      EventDetailPage(
        view: view, event: ConsoleEvent(publisherId: 7, id: "evt", event: event), endpoints: [], attempts: [attempt])
    }
    let one = ConsoleSynchronization(
      publisherId: 7, id: "s", transactionId: "1", customerId: CustomerId(Self.secret), dueAt: 0)
    func synchronization(_ view: ConsoleView) -> SynchronizationPage {
      SynchronizationPage(
        view: view, key: SynchronizationsKey(publisherId: 7, id: "s"), found: [one],
        progress: SynchronizationProgress(status: .retrying))
    }
    let list = SynchronizationsPage(view: viewer, question: Self.question(), found: ConsoleRows([one]), progress: nil)
    let endpoint = EndpointPage(
      view: viewer, endpoint: Self.endpoint("ep"), state: ConsoleEndpoint.State(), backlog: nil,
      attempts: AttemptPage(entries: [AttemptPage.Entry(attempt, cursor: "1-1")], next: nil))
    for (html, json) in [
      (page(viewer).html, page(viewer).json), (synchronization(viewer).html, synchronization(viewer).json),
      (list.html, list.json), (endpoint.html, endpoint.json),
    ] {
      #expect(!html.contains(Self.secret) && !String(decoding: json, as: UTF8.self).contains(Self.secret))
      #expect(!html.contains("<button type=\"submit\" class=\"quiet\">Try now"))
    }
    let support = try Self.view()
    #expect(page(support).html.contains("/c/customers/7/customer-secret") && page(support).html.contains("Answers"))
    #expect(String(decoding: page(support).json, as: UTF8.self).contains("customerId"))
    #expect(synchronization(support).html.contains("/c/customers/7/customer-secret"))
  }

  @Test(arguments: [
    ("https://hook.example/in/token?k=1", "https://hook.example"),
    ("https://u:p@hook.example:8443", "https://hook.example:8443"),
    ("https://u@v@hook.example#x", "https://hook.example"), ("https://hook.example\\@evil", "https://hook.example"),
    ("nothing", ""), ("", ""),
  ])
  func `only an operator sees more of a URL than its server`(url: String, server: String) {
    let endpoint = ConsoleEndpoint(publisherId: 7, id: "ep", url: url, source: "api")
    #expect(endpoint.shownURL(to: .support) == server && endpoint.shownURL(to: .viewer) == server)
    #expect(endpoint.shownURL(to: .operator) == url)
  }

  @Test func `an endpoint's page has the answers, for people who see personal data`() throws {
    let seen = Self.endpointPage("ep-answer", try Self.view()).html
    #expect(seen.contains("<h2>Answers</h2>") && seen.contains("500 to ep-answer, "))
    #expect(seen.contains("<pre tabindex=\"0\">ep-answer</pre>"))
    let hidden = Self.endpointPage("ep-answer", try Self.view(.viewer)).html
    #expect(hidden.contains("Hidden from viewers") && !hidden.contains("<pre"))
  }

  @Test func `a notification says how it came, and whether its type is known`() throws {
    let view = try Self.view()
    func one(_ type: String, _ subtype: String? = nil, source: String = "apple") -> ConsoleNotification {
      ConsoleNotification(
        publisherId: 7, uuid: "u", type: type, subtype: subtype, signedDate: Self.now, receivedAt: Self.now,
        source: source, state: .applied, appliedAt: Self.now)
    }
    func list(_ one: ConsoleNotification, _ filters: [String: String] = [:]) -> NotificationsPage {
      NotificationsPage(view: view, question: Self.question(filters), found: ConsoleRows([one]))
    }
    let (known, unknown) = (one("DID_RENEW"), one("DID_RENEW", "ON_THE_MOON", source: "history"))
    #expect(known.isKnownKind && !unknown.isKnownKind && !one("NEW_TYPE").isKnownKind)
    #expect(!list(known).html.contains("unknown type") && list(known).html.contains("<td>posted</td>"))
    #expect(list(unknown).html.contains("unknown type") && list(unknown).html.contains("class=\"mark\">history<"))
    #expect(String(decoding: list(unknown).json, as: UTF8.self).contains(#""came":"history""#))
    #expect(NotificationPage(view: view, notification: unknown).html.contains("does not know the type"))
    #expect(!NotificationPage(view: view, notification: known).html.contains("does not know the type"))
    for choice in ConsoleNotifications.Choice.allCases where choice != .all {
      let page = list(known, ["state": choice.rawValue])
      #expect(page.choice == choice && page.html.contains("value=\"\(choice.rawValue)\" selected"), "\(choice)")
    }
    #expect(list(known, ["state": "other"]).choice == nil)
  }

  @Test func `an endpoint says whether it gets its events`() throws {
    let view = try Self.view()
    let good = Self.endpointPage("ep", view, ConsoleEndpoint.State(made: 200, delivered: 199, medianMilliseconds: 40))
    for words in ["Gets its events", "99 % of 200", "40\u{a0}ms", "<dd>3</dd>", "2 hours ago", "evt"]
    where words != "evt" {
      #expect(good.html.contains(words), "\(words)")
    }
    let failing = Self.endpointPage(
      "ep", view, ConsoleEndpoint.State(health: EndpointHealth(failingSince: Self.now - 3_600_000)), backlog: nil)
    #expect(failing.html.contains("Every attempt has failed since") && failing.html.contains("not read in time"))
    let health = EndpointHealth(disabled: EndpointHealth.Disabled(reason: .gone, at: Self.now - 3_600_000))
    let disabled = Self.endpointPage("ep", view, ConsoleEndpoint.State(health: health))
    #expect(disabled.html.contains("it answered 410") && disabled.html.contains("Enable it first"))
    #expect(!disabled.html.contains("/recover") && good.html.contains("/c/endpoints/7/ep/recover"))
    #expect(try !Self.endpointPage("ep", Self.view(.viewer)).html.contains("/recover"))
    #expect(EndpointPage.words(ConsoleEndpoint.Backlog(waiting: 9, isWhole: false)).contains("9 or more"))
    #expect(Self.endpointPage("ep", view, next: "5-1").html.contains("/c/endpoints/7/ep?after=5-1"))
  }

  @Test func `an event can be sent again to an endpoint that takes it`() throws {
    let view = try Self.view()
    #expect(Self.eventPage("e", view).html.contains("/c/events/7/e/e/resend"))
    #expect(try !Self.eventPage("e", Self.view(.viewer)).html.contains("/resend"))
    let health = EndpointHealth(disabled: EndpointHealth.Disabled(reason: .failing, at: 0))
    let disabled = Self.eventPage("e", view, ConsoleEndpoint.State(health: health)).html
    #expect(!disabled.contains("/resend") && disabled.contains("enable it first"))
    #expect(Self.eventPage("e", view).html.contains("in 5 minutes") && disabled.contains("waits for RabbitMQ"))
    // Apple's notification, passed on: the ledger has no event of it.
    let id = try #require(Delivery.id(of: NotificationKey(publisherId: 7, uuid: "0a-1")))
    let forwarded = EventDetailPage(
      view: view, event: ConsoleEvent(publisherId: 7, id: id, event: nil),
      endpoints: [EndpointsPage.Row(endpoint: Self.endpoint("fw", source: "forward"), state: ConsoleEndpoint.State())],
      attempts: [Self.attempt("fw")])
    #expect(forwarded.html.contains("/c/notifications/7/0a-1") && !forwarded.html.contains("/resend"))
    #expect(
      EventDetailPage.endpoints(
        ConsoleEvent(
          publisherId: 7, id: "e", event: nil,
          open: [
            ConsoleEvent.OpenDelivery(endpointId: .unknown, attempt: 1, dueAt: 0),
            ConsoleEvent.OpenDelivery(endpointId: "b", attempt: 1, dueAt: 0),
          ]), [Self.attempt("a"), Self.attempt("b")]) == ["a", "b"])
  }

  @Test(arguments: [
    ("", "", EndpointPage.Question()), ("failed", "12-3", EndpointPage.Question(outcome: .failed, after: "12-3")),
    ("broken", "", nil), ("", "x", nil), ("", "0-1", nil),
  ])
  func `an address asks for a part of the log`(outcome: String, after: String, question: EndpointPage.Question?) {
    #expect(EndpointPage.Question(outcome: outcome, after: after) == question)
  }

  @Test func `endpoints of files and of the API come in one order`() {
    func one(_ publisher: PublisherId, _ id: EndpointId, _ source: String) -> ConsoleEndpoint {
      ConsoleEndpoint(publisherId: publisher, id: id, url: "", source: source)
    }
    let files = [one(1, "c", "configuration"), one(1, "a", "configuration"), one(2, "a", "configuration")]
    let page = EndpointsPage.page(files, [one(1, "b", "api")], after: nil, limit: 2)
    #expect(page.rows.map(\.id) == ["a", "b"] && page.next == ConsolePlace(0, 1, "b"))
    let rest = EndpointsPage.page(files, [one(2, "b", "api")], after: page.next, limit: 5)
    #expect(rest.rows.map(\.publisherId) == [1, 2, 2] && rest.rows.map(\.id) == ["c", "a", "b"] && rest.next == nil)
  }

  @Test func `a notification says what became of it, and how long it took`() throws {
    let view = try Self.view()
    for state in ConsoleNotification.State.allCases {
      let html = NotificationPage(view: view, notification: Self.notification("n", state)).html
      #expect(html.contains(">\(state.rawValue)</span>") && html.contains(state.words), "\(state)")
    }
    let list = NotificationsPage(view: view, question: Self.question(), found: ConsoleRows([Self.notification("n")]))
    #expect(list.html.contains("1\u{a0}min\u{a0}5\u{a0}s") && list.html.contains("/c/purchases/7/n/n"))
    #expect(NotificationsPage(view: view, question: Self.question(["state": "other"])).choice == nil)
    #expect(NotificationsPage(view: view, question: Self.question(["state": "aside"])).choice == .putAside)
    let empty = NotificationsPage(view: view, question: Self.question())
    #expect(empty.html.contains("Apple has posted nothing"))
    let stretch = NotificationsPage(
      view: view, question: Self.question(), found: ConsoleRows(next: ConsolePlace(5, 7, "")))
    #expect(stretch.html.contains("on the next one") && stretch.html.contains("after=5.7."))
  }

  @Test func `a synchronization says why it is tried again`() throws {
    let open = Self.synchronizationPage("s", try Self.view())
    for words in ["Apple refuses the app&#39;s key", "Look at the app", "/c/synchronizations/7/s/retry", "in 1 minute"]
    {
      #expect(open.html.contains(words), "\(words)")
    }
    #expect(String(decoding: open.json, as: UTF8.self).contains(#""cause":"unauthorized""#))
    let over = Self.synchronizationPage("s", try Self.view(), Self.now - 60_000)
    #expect(over.html.contains("Finalized") && !over.html.contains("/retry") && over.html.contains("/c/events/7/s"))
    #expect(try !Self.synchronizationPage("s", Self.view(.viewer)).html.contains("/retry"))
    #expect(Set(RetryCause.allCases.map(\.words)).count == RetryCause.allCases.count)
    let list = SynchronizationsPage(
      view: try Self.view(), question: Self.question(), found: ConsoleRows([Self.synchronization("s")]), progress: nil)
    #expect(list.html.contains("The states could not be read in time") && list.html.contains("unknown"))
  }

  @Test(arguments: [
    (0, "0\u{a0}ms"), (999, "999\u{a0}ms"), (1000, "1\u{a0}s"), (65_000, "1\u{a0}min\u{a0}5\u{a0}s"),
    (3_600_000, "1\u{a0}h\u{a0}0\u{a0}min"),
    (90_000_000, "1\u{a0}d\u{a0}1\u{a0}h"),
  ])
  func `a duration has two units at most`(milliseconds: Int64, words: String) {
    #expect(ConsoleTime.duration(milliseconds) == words)
  }

  @Test func `what is found opens its page`() throws {
    let view = try Self.view()
    func page(_ kind: ConsoleHit.Kind) -> FindPage {
      FindPage(view: view, text: "x/1", hits: [ConsoleHit(kind: kind, publisherId: 7, customer: "42", detail: "t")])
    }
    #expect(page(.event).only?.address == "/c/events/7/x%2F1")
    #expect(page(.notification).only?.address == "/c/notifications/7/x%2F1")
    // Its id may be anybody's choice.
    #expect(page(.synchronization).only == nil)
    #expect(page(.synchronization).html.contains("/c/synchronizations/7/x%2F1"))
    #expect(page(.synchronization).html.contains("/c/customers/7/42"))
  }
}
