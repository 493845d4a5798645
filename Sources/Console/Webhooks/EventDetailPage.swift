import Domain
import Formats
import JSON
import Ledger

/// An event: whom it is about, which endpoints got it, and what they answered.
struct EventDetailPage {
  let view: ConsoleView
  let event: ConsoleEvent
  /// The endpoints that it went to or goes to, each with its state.
  let endpoints: [EndpointsPage.Row]
  /// The newest first.
  let attempts: [DeliveryAttempt]
  /// Whether there are older attempts.
  var hasMore = false
  /// Why it was not sent again.
  var refusal: String?

  /// The most attempts that it shows.
  static let most = 100

  private var key: EventKey { EventKey(publisherId: event.publisherId, id: event.id) }

  /// The endpoints among attempts and open deliveries.
  static func endpoints(_ event: ConsoleEvent, _ attempts: [DeliveryAttempt]) -> [EndpointId] {
    Set(attempts.map(\.endpointId) + event.open.map(\.endpointId)).subtracting([.unknown]).sorted()
  }

  var html: Document {
    let topic = event.event?.topic ?? attempts.first?.topic ?? ""
    return Layout.page(
      "Event \(event.id)", view, search: event.id.text,
      [
        .element(.p, [.class("above")], [.text("Event of publisher \(event.publisherId)")]),
        .element(.h1, [.class("id")], [.text(event.id.text)]), .refusal(refusal),
        view.region(.verdict, .element(.div, [.class("verdict")], [.element(.h2, [], [.text(topic.text)]), facts])),
        view.region(.deliveries, deliveries), view.region(.attempts, log), view.region(.answers, answers), body,
      ])
  }

  private var facts: HTML {
    let customer = event.event?.customerId.map { view.customer(CustomerKey(publisherId: event.publisherId, id: $0)) }
    let notification = Delivery.notification(named: event.id)
    return .facts([
      ("Happened", event.event.map { view.time($0.time) }), ("Customer", customer),
      ("Version", event.event?.version.map { .text("\($0)") }),
      ("Notification", notification.map { .link(view.link(to: $0), $0.uuid.text) }),
      (
        "Kept",
        event.event == nil && notification == nil
          ? .text("The ledger no longer keeps the event, so nobody can send it again here.") : nil
      ), ("Published", event.isInOutbox ? .text("not yet: it waits for RabbitMQ to take it") : nil),
    ])
  }

  // MARK: Deliveries

  private var deliveries: HTML {
    let unseen = event.open.contains { $0.endpointId == .unknown }
    guard !endpoints.isEmpty else {
      let words =
        unseen
        ? "No notifier has looked at it yet, so nobody knows which endpoints get it."
        : "No endpoint has got it: none wants the topic, or its attempts are no longer logged."
      return .section("Deliveries", [.p(.text(words), class: "none")])
    }
    return .section(
      "Deliveries",
      [
        .table(
          "To each endpoint", ["Endpoint", "Server", "State", "Last attempt", "Next attempt", ""],
          endpoints.map { row in
            let id = row.endpoint.id
            let last = attempts.first { $0.endpointId == id }
            let next = event.open.filter { $0.endpointId == id }.map(\.dueAt).min()
            return [
              .link(view.link(to: row.endpoint.key), id.text), .text(row.endpoint.shownURL(to: view.person.role)),
              row.endpoint.isKnown ? row.state.mark(view) : .span("deleted", class: "mark"),
              last.map { .all([$0.result.mark, .text(" "), view.time($0.time)]) } ?? .span("none yet", class: "none"),
              next.map { $0 <= view.now ? .text("at once") : view.time($0) } ?? .span("none", class: "none"),
              again(row),
            ]
          })
      ])
  }

  private func again(_ row: EndpointsPage.Row) -> HTML {
    guard view.person.role.acts, event.event != nil, row.endpoint.isKnown, row.endpoint.source != "forward" else {
      return .nothing
    }
    if row.state.health.disabled != nil { return .span("enable it first", class: "none") }
    return .begin(
      "Resend …", view.link(key.page + [row.endpoint.id.text, "resend"]), label: "Resend to \(row.endpoint.id)")
  }

  // MARK: What happened

  private var log: HTML {
    guard !attempts.isEmpty else { return .nothing }
    return .section(
      "Attempts",
      [
        .table(
          "The newest first", ["When", "Endpoint"] + DeliveryAttempt.columns,
          attempts.map { [view.time($0.time), .code($0.endpointId.text)] + $0.cells(view) }),
        hasMore ? .p(.text("Older attempts are on the pages of the endpoints."), class: "none") : .nothing,
      ])
  }

  private var answers: HTML { .answers(attempts, view) { "from \($0.endpointId)" } }

  private var body: HTML {
    guard let kept = event.event else { return .nothing }
    guard view.person.role.seesPersonalData else {
      return .section("What it says", [.p(.text("Hidden from viewers: it may name the customer."), class: "none")])
    }
    return .section("What it says", [.element(.pre, [.of(.tabindex, "0")], [.text(PrettyJSON.text(kept.body))])])
  }

  /// The same as JSON.
  var json: [UInt8] {
    JSONWriter.object { writer in
      writer.member("attempts", attempts) { attempt, writer in writer.attempt(attempt, view) }
      if view.person.role.seesPersonalData { writer.member("customerId", event.event?.customerId) }
      writer.member("deliveries", event.open) { delivery, writer in
        writer.member("attempt", delivery.attempt)
        writer.member("endpointId", delivery.endpointId == .unknown ? nil : delivery.endpointId)
        writer.member("nextAttemptAt", rfc3339(milliseconds: max(0, delivery.dueAt)))
      }
      writer.member("eventId", event.id)
      writer.member("isPublished", event.event == nil ? nil : !event.isInOutbox)
      writer.member("page", view.link(to: key).address)
      writer.publisher(event.publisherId)
      writer.member("time", event.event.map { rfc3339(milliseconds: $0.time) })
      writer.member("topic", event.event?.topic ?? attempts.first?.topic)
    }
  }
}
