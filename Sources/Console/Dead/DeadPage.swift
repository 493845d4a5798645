import Domain
import Formats
import JSON
import Messaging

/// What was given up: jobs and deliveries in the queues of the dead, and notifications that are put aside.
struct DeadPage {
  let view: ConsoleView
  let question: ListQuestion
  let form: DeadForm
  var rows: [DeadRow] = []
  /// Whether there are more than the page shows.
  var hasMore = false
  /// Why nothing could be read.
  var trouble: String?

  private var page: ListPage { ListPage(view: view, list: .dead, question: question) }
  private var acts: Bool { view.person.role.acts }

  var html: Document {
    page.html(
      lead: "Messages that no process tries again. They wait for a person.",
      filters: [
        ListPage.field(
          "kind", "Kind", DeadKind.allCases.map { ($0.rawValue, $0.rawValue) }, chosen: form.kind.rawValue),
        ListPage.field(
          "cause", "Cause", [("", "any")] + DeadCause.allCases.map { ($0.rawValue, $0.words) },
          chosen: form.cause?.rawValue ?? ""),
      ], table: content, empty: "Nothing was given up. That is how it should be.",
      // A look takes a queue's messages out for a moment, and another person's action would find fewer.
      isLive: form.kind.queue == nil, below: all)
  }

  private var content: HTML? {
    if let trouble {
      return .element(
        .p, [.class("flag"), .of(.role, "status")],
        [.element(.strong, [], [.text("Not readable just now. ")]), .text(trouble)])
    }
    guard !rows.isEmpty else {
      guard hasMore else { return nil }
      // Those of others stand before them.
      let words = "None of the first \(DeadForm.mostShown) is in this list, and there may be more behind them."
      return .p(.text(words), class: "none")
    }
    let more = "There are more. The page shows \(rows.count) of them, and the buttons below mean all."
    return .all([table, hasMore ? .p(.text(more), class: "none") : .nothing])
  }

  private var table: HTML {
    let head = ["Given up", "Id", "Cause", "What happened", "Publisher", "Endpoint", "Topic", "Customers"]
    return .table(
      "The oldest first", acts ? head + ["Action"] : head,
      rows.map { row in
        let cells: [HTML] = [
          view.time(row.buriedAt), id(row), .text(row.cause.words), reason(row),
          .text(row.publisherId.map { "\($0)" } ?? "unknown"), endpoint(row), .text(row.topic ?? "–"), customers(row),
        ]
        guard acts else { return cells }
        // A form without an id would mean all of them.
        return cells + [row.id.isEmpty ? .text("–") : buttons(form(of: row), ofOne: row.id)]
      })
  }

  private func id(_ row: DeadRow) -> HTML {
    guard let publisher = row.publisherId, !row.id.isEmpty else { return .code(row.id) }
    switch form.kind {
    case .jobs: return .code(row.id)
    case .deliveries: return .link(view.link(to: EventKey(publisherId: publisher, id: EventId(row.id))), row.id)
    case .notifications:
      return .link(view.link(["notifications", "\(publisher)", row.id]), row.id)
    }
  }

  /// It may be an endpoint's answer, which viewers do not see.
  private func reason(_ row: DeadRow) -> HTML {
    guard view.person.role.seesPersonalData else { return .span("hidden from viewers", class: "none") }
    return row.reason.map { .element(.div, [.class("detail")], [.text($0)]) } ?? .text("–")
  }

  private func endpoint(_ row: DeadRow) -> HTML {
    guard let publisher = row.publisherId, let id = row.endpointId else { return .text("–") }
    return .link(view.link(to: EndpointKey(publisherId: publisher, id: id)), id.text)
  }

  private func customers(_ row: DeadRow) -> HTML {
    guard let publisher = row.publisherId, !row.customers.isEmpty else { return .text("–") }
    return .all(
      row.customers.prefix(3).map { .element(.div, [], [view.customer(CustomerKey(publisherId: publisher, id: $0))]) })
  }

  private func form(of row: DeadRow) -> DeadForm {
    var one = form
    (one.id, one.publisher, one.endpoint) = (row.id, row.publisherId, row.endpointId)
    return one
  }

  /// The forms for all rows of the list, including rows that the page does not show.
  private var all: HTML {
    guard acts, trouble == nil, hasMore || !rows.isEmpty else { return .nothing }
    return .section("All of this list", [.element(.div, [.class("buttons")], [buttons(form, ofOne: nil)])])
  }

  private func buttons(_ form: DeadForm, ofOne id: String?) -> HTML {
    let actions: [(String, String)] =
      [("retry", "Try again")] + (view.person.role.erases ? [("drop", "Drop")] : [])
    return .all(
      actions.map { action, words in
        let label = id.map { [Attribute.of(.label, "\(words) \($0)")] } ?? []
        return .element(
          .form,
          [.of(.method, "post"), .action(view.link([ConsoleList.dead.rawValue, action])), .class("inline")],
          form.fields.map { .hidden($0.name, $0.value) } + [
            .hidden("step", "preview"),
            .element(
              .button, [.of(.type, "submit"), .class("quiet")] + label,
              [.text(id == nil ? "\(words) all …" : "\(words) …")]),
          ])
      })
  }

  /// The same as JSON.
  var json: [UInt8] {
    page.json(rows) { row, writer in
      writer.member("attempt", row.attempt.map { Int64($0) })
      writer.member("buriedAt", row.buriedAt.map { rfc3339(milliseconds: $0) })
      writer.member("cause", row.cause.rawValue)
      if view.person.role.seesPersonalData {
        writer.member("customers", array: row.customers.map { JSONWriter.text($0.text) })
        writer.member("reason", row.reason)
      }
      writer.member("endpointId", row.endpointId)
      writer.member("id", row.id)
      writer.member("kind", form.kind.rawValue)
      writer.publisher(row.publisherId)
      writer.member("topic", row.topic)
    }
  }
}
