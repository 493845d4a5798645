import Coordination
import Crypto
import Domain
import DomainSupport
import Ledger
import Messaging

@testable import Console

/// Every page that has live regions, with a text that a stranger wrote wherever one may.
struct LivePages {
  private static let now = AnsweredPurchases.now
  let view: ConsoleView
  let text: String

  init(_ text: String = "x", canBeReadAgain: Bool = true) throws {
    let person = ConsolePerson(name: text, role: .operator, publishers: .all, password: try Scrypt.ofNobody())
    view = ConsoleView(prefix: "/c", person: person, now: Self.now, canBeReadAgain: canBeReadAgain)
    self.text = text
  }

  var all: [(name: String, page: Document)] {
    [
      ("customer", customer), ("purchase", purchase), ("endpoint", endpoint), ("event", event),
      ("notification", NotificationPage(view: view, notification: notification).html),
      ("synchronization", synchronizationPage), ("life", life),
    ] + lists
  }

  private var lists: [(name: String, page: Document)] {
    let question = ListQuestion(choices: [7, 8])
    var notifications = NotificationsPage(view: view, question: question, found: ConsoleRows([notification]))
    notifications.sources = [
      NotificationSource(
        NotificationSource.Key(publisherId: 7, bundleId: BundleId(text), environment: .production), readThrough: nil,
        lastReceivedAt: nil, longestSilence: 1000)
    ]
    let imported = UploadedImport(
      id: ImportId(text), publisherId: 7, wish: UploadedImport.Wish(preset: .plain), createdAt: Self.now)
    return [
      ("notifications", notifications.html),
      (
        "synchronizations",
        SynchronizationsPage(
          view: view, question: question, found: ConsoleRows([synchronization]),
          progress: [SynchronizationProgress(status: .retrying, cause: .network)]
        ).html
      ),
      ("endpoints", EndpointsPage(view: view, question: question, found: ConsoleRows([row])).html),
      ("imports", ImportsPage(view: view, question: question, found: ConsoleRows([imported])).html),
      ("refund requests", RefundRequestsPage(view: view, question: question, found: ConsoleRows([refund])).html),
      ("given up", dead("notifications")), ("fleet", fleet),
    ]
  }

  private var purchases: [Purchase] {
    var facts = AnsweredPurchases.transaction(TransactionId(text), of: OriginalTransactionId(text))
    (facts.offerDiscountType, facts.currency, facts.price) = (text, CurrencyCode(text), 1990)
    facts.appAccountToken = AppAccountToken(text)
    return [
      AnsweredPurchases.purchase(facts, renewal: AnsweredPurchases.renewal(of: OriginalTransactionId(text))),
      AnsweredPurchases.purchase(AnsweredPurchases.transaction(), renewal: AnsweredPurchases.renewal()),
    ]
  }

  private var rules: AccessRules {
    AccessRules(
      offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"], displayName: text)]), allowsSandbox: true)
  }

  private var moment: ConsoleMoment {
    ConsoleMoment(
      kind: .event, at: Self.now, signedAt: Self.now, what: text, id: text, about: text, detail: text)
  }

  private var customer: Document {
    let key = CustomerKey(publisherId: 7, id: CustomerId(text))
    let grant = Grant(
      id: TestGrants.id(1), customer: key, offerId: "S1", reason: .support, note: text, createdAt: Self.now,
      endsAt: Self.now + 1)
    return CustomerPage(
      view: view, customer: key, email: text, rules: rules,
      holdings: CustomerPurchases(isKnown: true, version: 3, purchases: purchases, grants: [grant]),
      purchases: purchases, timeline: ConsoleTimeline.Reading(moments: [moment], missing: [.attempt])
    ).html
  }

  private var purchase: Document {
    PurchasePage(
      view: view,
      record: PurchaseRecord(
        purchases[0],
        ownerships: [
          OwnershipPeriod(
            subscriptionId: 1, customerId: CustomerId(text), beganAt: Self.now, endedAt: nil, cause: text)
        ]), rules: rules, notifications: [moment],
      evidence: [
        ConsoleEvidence(
          kind: text, source: text, signedAt: Self.now, receivedAt: Self.now, payload: Array("{\"\(text)\":1}".utf8))
      ],
      requests: [refund]
    ).html
  }

  private var refund: RefundRequest {
    RefundRequest(
      id: "rfr_1", purchase: purchases[0].key, transactionId: TransactionId(text), bundleId: BundleId(text),
      productId: ProductId(text), kind: .autoRenewable, customerId: CustomerId(text), reason: text,
      requestedAt: Self.now, state: .sending, lastError: text)
  }

  private var attempt: DeliveryAttempt {
    DeliveryAttempt(
      eventId: EventId(text), endpointId: EndpointId(text), topic: EventTopic(text), number: 1, time: Self.now,
      status: 500,
      durationMilliseconds: 12, error: text, answer: text, result: .failed)
  }

  private var row: EndpointsPage.Row {
    let endpoint = ConsoleEndpoint(
      publisherId: 7, id: EndpointId(text), url: "https://hook.example/\(text)", name: text, topics: [EventTopic(text)],
      source: "api", createdAt: Self.now)
    return EndpointsPage.Row(endpoint: endpoint, state: ConsoleEndpoint.State())
  }

  private var endpoint: Document {
    EndpointPage(
      view: view, endpoint: row.endpoint, state: row.state, backlog: nil,
      attempts: AttemptPage(entries: [AttemptPage.Entry(attempt, cursor: "1-1")], next: "5-1"),
      hours: [ConsoleEndpoint.Hour(start: Self.now, made: 2, delivered: 1, medianMilliseconds: 9)]
    ).html
  }

  private var event: Document {
    let event = Event(
      id: EventId(text), publisherId: 7, customerId: CustomerId(text), topic: EventTopic(text), time: Self.now,
      body: Array("{\"\(text)\":1}".utf8))
    return EventDetailPage(
      view: view, event: ConsoleEvent(publisherId: 7, id: EventId(text), event: event), endpoints: [row],
      attempts: [attempt]
    ).html
  }

  private var notification: ConsoleNotification {
    ConsoleNotification(
      publisherId: 7, uuid: NotificationUUID(text), type: text, subtype: text, environment: Environment(text),
      bundleId: BundleId(text),
      originalTransactionId: OriginalTransactionId(text), signedDate: Self.now, receivedAt: Self.now,
      state: .putAside, appliedAt: nil, reason: text)
  }

  private var synchronization: ConsoleSynchronization {
    ConsoleSynchronization(
      publisherId: 7, id: SynchronizationId(text), transactionId: TransactionId(text), customerId: CustomerId(text),
      kind: text, dueAt: Self.now, registeredAt: Self.now)
  }

  private var synchronizationPage: Document {
    SynchronizationPage(
      view: view, key: SynchronizationsKey(publisherId: 7, id: SynchronizationId(text)), found: [synchronization],
      progress: SynchronizationProgress(status: .retrying, cause: .unauthorized)
    ).html
  }

  private var life: Document {
    let key = PurchaseKey(
      publisherId: 7, environment: .production, originalTransactionId: OriginalTransactionId(text))
    let answer =
      #"{"originalTransactionId":"2","state":"active","hasAccess":true,"bundleId":"b","productId":"monthly","#
      + #""willRenew":true,"transactions":[{"transactionId":"2","purchaseDate":1,"expiresDate":2}]}"#
    guard let life = PlayedLife(Array(answer.utf8)) else { preconditionFailure("It is a life.") }
    return LifePage(
      view: view, key: key, customer: CustomerId(text), life: life, purchase: purchases[0], isLive: false
    ).html
  }

  private var fleet: Document {
    var beat = FleetBeat(
      id: text, role: text, version: text, place: text, startedAt: Self.now, troubles: [text],
      readings: [.init("countersign_queue_messages", [text], 5), .init("countersign_redis_evicts", [], 1)])
    (beat.heardAt, beat.readAt) = (Self.now, Self.now)
    return FleetPage(
      view: view, question: ListQuestion(choices: [7]), beats: [beat],
      lanes: [FleetPage.Lane(lane: .usual, open: 1, inLine: 0)]
    ).html
  }

  /// What was given up of one kind.
  func dead(_ kind: String) -> Document {
    let question = ListQuestion(choices: [7], filters: ["kind": kind])
    guard let form = DeadForm(question) else { preconditionFailure("It is a kind.") }
    var row = DeadRow(id: text, cause: .crashed)
    (row.reason, row.publisherId, row.topic) = (text, 7, text)
    return DeadPage(view: view, question: question, form: form, rows: [row]).html
  }
}
