import Domain
import Formats
import JSON
import Ledger

/// Apple's questions about refunds: which wait for an answer, until when, and what was answered.
struct RefundRequestsPage {
  let view: ConsoleView
  let question: ListQuestion
  var found = ConsoleRows<RefundRequest>()
  /// The offers of each publisher: their policies answer.
  var policies: [PublisherId: OfferCatalog] = [:]

  /// The state to show; `nil` for the requests that are pending.
  var state: RefundRequest.State? { question.filters["state"].flatMap { RefundRequest.State(rawValue: $0) } }

  /// Whether the chosen state is one.
  var isReadable: Bool { question.filters["state"] == nil || (state.map { !$0.isPending } ?? false) }

  private var page: ListPage {
    ListPage(view: view, list: .refundRequests, question: question, next: found.next)
  }

  /// The states that a person may choose.
  private static let states: [(value: String, words: String)] =
    [("", "waiting for an answer")]
    + RefundRequest.State.allCases.filter { !$0.isPending }.map { ($0.rawValue, $0.words) }

  var html: Document {
    page.html(
      lead: "Customers asked Apple for the money back, and Apple asks how much they used. Apple decides.",
      filters: [ListPage.field("state", "State", Self.states, chosen: question.filters["state"] ?? "")],
      table: found.rows.isEmpty ? nil : table, empty: empty, isLive: true)
  }

  private var empty: String {
    state.map { "No request is in the state “\($0.words)”." }
      ?? "Apple waits for no answer. A request comes here when a customer asks Apple for a refund."
  }

  private var table: HTML {
    .table(
      state == nil ? "The nearest deadline first" : "The latest deadline first",
      ["Deadline", "Publisher", "Customer", "Product", "Purchase", "Reason", "Answer"],
      found.rows.map { request in
        [
          deadline(request), .text("\(request.purchase.publisherId)"), customer(request),
          .text(request.productId.text),
          view.purchase(request.purchase),
          .text(request.reason ?? ""), .element(.div, [.class("wide")], answer(request)),
        ]
      })
  }

  private func customer(_ request: RefundRequest) -> HTML {
    request.customerId.map { view.customer(request.purchase.customer($0)) } ?? .span("nobody", class: "none")
  }

  /// The requests about one purchase, on its page.
  static func section(_ requests: [RefundRequest], _ policies: OfferCatalog, _ view: ConsoleView) -> HTML {
    guard let publisher = requests.first?.purchase.publisherId else { return .nothing }
    let page = RefundRequestsPage(
      view: view, question: ListQuestion(choices: []), policies: [publisher: policies])
    return .section(
      "Refund requests",
      [
        .table(
          "The latest deadline first", ["Deadline", "Transaction", "State", "Reason", "Answer"],
          requests.map { request in
            [
              page.deadline(request), .code(request.transactionId.text), .text(request.state.words),
              .text(request.reason ?? ""), .element(.div, [.class("wide")], page.answer(request)),
            ]
          })
      ])
  }

  /// Less than three hours are little time.
  private func deadline(_ request: RefundRequest) -> HTML {
    let isNear = request.state.isPending && request.deadline.subtracting(view.now) < 3 * 3_600_000
    return isNear
      ? .element(.span, [.class("mark bad")], [view.time(request.deadline)]) : view.time(request.deadline)
  }

  // MARK: The answer

  private func answer(_ request: RefundRequest) -> [HTML] {
    let by = request.answeredBy.map { $0 == .policy ? " by the policy" : " by the publisher" } ?? ""
    let said: [HTML] = request.answer.map { [.text(Self.words($0)), .text(by), .text(". ")] } ?? []
    let next: String
    switch request.state {
    case .open: next = "Nobody has answered. " + (answerer(request) == .fromFacts ? Self.byPolicy : Self.byPublisher)
    case .sending: next = "It is being sent to Apple."
    case .answered: next = "Apple has it."
    case .withheld: next = "The publisher does not answer."
    case .refused: next = "Apple does not take it. The publisher may send another one."
    case .decided: next = "Apple decided before it had an answer."
    case .expired: next = "The deadline passed without an answer."
    }
    let error = request.lastError.map { HTML.all([.text(" The last call failed: "), .code($0)]) } ?? .nothing
    return said + [.text(next), error]
  }

  private static let byPolicy =
    "The offer's policy answers once the customer has consented and owns the purchase. Until then, the publisher may."
  private static let byPublisher = "The publisher's backend must answer, with the API: no policy does."

  /// Who answers for a product, as the publisher's file says now.
  private func answerer(_ request: RefundRequest) -> ConsumptionPolicy.Answerer {
    policies[request.purchase.publisherId]?.offer(forProduct: request.productId)?.consumption.answerer ?? .ask
  }

  /// An answer in words.
  static func words(_ answer: ConsumptionAnswer) -> String {
    let used = answer.percentage.map { ", \($0 / 1000) % used" } ?? ""
    let wish =
      switch answer.preference {
      case .decline: ", please decline"
      case .grantFull: ", please refund all"
      case .grantProrated: ", please refund the unused part"
      case nil: ", no preference"
      }
    return (answer.delivery == .delivered ? "Delivered" : "Not delivered (\(answer.delivery.rawValue))") + used + wish
  }

  /// The same as JSON.
  var json: [UInt8] {
    page.json(found.rows) { $1.refundRequest($0, view) }
  }
}

extension RefundRequest.State {
  /// For people.
  fileprivate var words: String {
    switch self {
    case .open, .sending: "waiting for an answer"
    case .answered: "answered"
    case .withheld: "not answered by choice"
    case .refused: "answer refused by Apple"
    case .decided: "decided without an answer"
    case .expired: "deadline passed"
    }
  }
}

extension JSONWriter {
  /// Writes the members of a request for a refund.
  mutating func refundRequest(_ request: RefundRequest, _ view: ConsoleView) {
    member("answer", json: request.answer?.body)
    member("answeredBy", request.answeredBy?.rawValue)
    if view.person.role.seesPersonalData { member("customerId", request.customerId) }
    member("deadline", rfc3339(milliseconds: request.deadline))
    member("environment", request.purchase.environment)
    member("originalTransactionId", request.purchase.originalTransactionId)
    member("page", view.link(to: request.purchase).address)
    member("productId", request.productId)
    publisher(request.purchase.publisherId)
    member("reason", request.reason)
    member("refundRequestId", request.id)
    member("requestedAt", rfc3339(milliseconds: request.requestedAt))
    member("state", request.state.rawValue)
    member("transactionId", request.transactionId)
  }
}
