import Domain
import Formats
import JSON
import Ledger

/// The endpoints of publishers: which get what is owed to them, and which do not.
struct EndpointsPage {
  let view: ConsoleView
  let question: ListQuestion
  var found = ConsoleRows<Row>()

  struct Row: Sendable, Equatable {
    let endpoint: ConsoleEndpoint
    let state: ConsoleEndpoint.State
  }

  private var page: ListPage { ListPage(view: view, list: .endpoints, question: question, next: found.next) }

  /// Chooses a page out of the endpoints of files and those that were read, in the order of publishers and ids.
  ///
  /// - Parameter read: those behind the place, one more than the page has.
  static func page(
    _ files: [ConsoleEndpoint], _ read: [ConsoleEndpoint], after place: ConsolePlace?, limit: Int
  ) -> ConsoleRows<ConsoleEndpoint> {
    let all = (files.filter { isBehind($0, place) } + read).sorted {
      ($0.publisherId, $0.id) < ($1.publisherId, $1.id)
    }
    return ConsoleRows(all, limit: limit) { ConsolePlace(0, $0.publisherId, $0.id.text) }
  }

  private static func isBehind(_ endpoint: ConsoleEndpoint, _ place: ConsolePlace?) -> Bool {
    guard let place else { return true }
    return (endpoint.publisherId, endpoint.id) > (place.publisherId, EndpointId(place.id))
  }

  var html: Document {
    page.html(
      lead: "Where events go. Success is that of the newest \(ConsoleEndpoints.mostAttempts) attempts of the last day.",
      table: found.rows.isEmpty ? nil : table,
      empty: "There is no endpoint. A publisher adds one with POST /3.1/webhook_endpoints, or in its file.",
      isLive: true)
  }

  private var table: HTML {
    .table(
      "Endpoints", ["Endpoint", "Publisher", "Server", "State", "Success", "Half are faster than", "Last delivery"],
      found.rows.map { row in
        let (endpoint, state) = (row.endpoint, row.state)
        let name = endpoint.name.isEmpty ? HTML.nothing : .all([.text(" "), .span(endpoint.name, class: "none")])
        return [
          .all([.link(view.link(to: endpoint.key), endpoint.id.text), name]), .text("\(endpoint.publisherId)"),
          .text(endpoint.shownURL(to: view.person.role)), state.mark(view), .text(state.success ?? "–"),
          .text(state.medianMilliseconds.map(ConsoleTime.milliseconds) ?? "–"), view.time(state.lastDeliveredAt),
        ]
      })
  }

  /// The same as JSON.
  var json: [UInt8] {
    page.json(found.rows) { row, writer in
      writer.endpoint(row.endpoint, row.state, view)
    }
  }
}

extension JSONWriter {
  /// Writes the members of an endpoint.
  mutating func endpoint(_ endpoint: ConsoleEndpoint, _ state: ConsoleEndpoint.State, _ view: ConsoleView) {
    member("attempts", state.made)
    member("delivered", state.delivered)
    member("disabledAt", state.health.disabled.map { rfc3339(milliseconds: $0.at) })
    member("disabledReason", state.health.disabled?.reason.rawValue)
    member("endpointId", endpoint.id)
    member("failingSince", state.health.failingSince.map { rfc3339(milliseconds: $0) })
    member("lastDeliveredAt", state.lastDeliveredAt.map { rfc3339(milliseconds: $0) })
    member("medianMilliseconds", state.medianMilliseconds)
    member("name", endpoint.name.isEmpty ? nil : endpoint.name)
    member("page", view.link(to: endpoint.key).address)
    publisher(endpoint.publisherId)
    member("state", state.word)
    member("url", endpoint.shownURL(to: view.person.role))
  }

  /// Writes the members of an attempt. The answer may tell about a customer.
  mutating func attempt(_ attempt: DeliveryAttempt, _ view: ConsoleView) {
    if view.person.role.seesPersonalData { member("answer", attempt.answer) }
    member("attempt", Int64(attempt.number))
    member("durationMilliseconds", attempt.durationMilliseconds)
    member("endpointId", attempt.endpointId)
    member("error", attempt.error)
    member("eventId", attempt.eventId)
    member("nextAttemptAt", attempt.nextAt.map { rfc3339(milliseconds: $0) })
    member("outcome", attempt.result.rawValue)
    member("status", attempt.status.map { Int64($0) })
    member("time", rfc3339(milliseconds: attempt.time))
    member("topic", attempt.topic)
  }
}
