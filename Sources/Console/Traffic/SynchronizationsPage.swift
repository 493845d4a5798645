import Domain
import Formats
import JSON
import Ledger

/// How far a synchronization is that is not finalized, as Redis knows it.
struct SynchronizationProgress: Sendable, Equatable {
  /// `nil` if Redis does not know the synchronization.
  var status: Synchronization.Status?
  /// Why it is tried again.
  var cause: RetryCause?

  /// Its state for people: whether it runs, or what it waits for.
  var mark: HTML {
    switch status {
    case .processing: .span("waiting or running", class: "mark")
    case .retrying: .span(cause.map { "tried again: \($0.words)" } ?? "tried again", class: "mark bad")
    // It ended a moment ago.
    case .finalized: .span("finalized", class: "mark good")
    case nil: .span("found by the next sweep", class: "mark")
    }
  }
}

/// The synchronizations that wait in the ledger.
struct SynchronizationsPage {
  let view: ConsoleView
  let question: ListQuestion
  var found = ConsoleRows<ConsoleSynchronization>()
  /// Those of the rows; `nil` if Redis does not answer.
  var progress: [SynchronizationProgress]?

  /// The reason for which all that it shows wait; `nil` for every reason.
  var reason: SynchronizationReason? { question.filters["cause"].flatMap { SynchronizationReason($0) } }
  /// Whether the chosen reason is one.
  var isReadable: Bool { question.filters["cause"] == nil || reason != nil }

  /// For one reason, a page looks at so many of the publishers' at once, so often at most: only Redis knows reasons.
  static let (lookedAtOnce, mostLooks) = (500, 4)

  private var page: ListPage { ListPage(view: view, list: .synchronizations, question: question, next: found.next) }

  var html: Document {
    page.html(
      lead: "What has waited for more than 30 seconds. Each is tried again until it is finalized.",
      filters: [
        ListPage.field(
          "cause", "Waits, because",
          [("", "any reason")] + SynchronizationReason.all.map { ($0.text, $0.words) }, chosen: reason?.text ?? "")
      ],
      table: found.rows.isEmpty
        ? nil : .all([progress == nil ? .unread("The states") : .nothing, help, table]),
      empty: reason == nil
        ? "None waits for long. Each is finalized within seconds." : "None waits for this reason now.", isLive: true,
      below: found.rows.isEmpty && !view.isRefused(.retryAll) ? .nothing : all)
  }

  /// What somebody can do about the chosen reason.
  private var help: HTML { reason?.cause.map { .p(.text($0.help), class: "none") } ?? .nothing }

  /// A form for all that wait for one reason.
  private var all: HTML {
    guard view.person.role.acts else { return .nothing }
    return .section(
      "Try all of a kind",
      [
        .element(
          .form,
          [
            .of(.method, "post"),
            .action(view.link([ConsoleList.synchronizations.rawValue, "retry"])), .class("filters"),
          ],
          [
            .hidden("publisher", question.publisher.map { "\($0)" } ?? ""),
            ListPage.field(
              "cause", "Wait, because", RetryCause.allCases.map { ($0.rawValue, $0.words) },
              chosen: view.typed(.retryAll)?["cause"] ?? (reason?.cause ?? .unauthorized).rawValue),
            .hidden("step", "preview"),
            .element(.button, [.of(.type, "submit"), .class("quiet")], [.text("Try all …")]),
          ])
      ])
  }

  private var table: HTML {
    .table(
      "The next to be tried first",
      ["Next try", "Synchronization", "Customer", "Transaction", "State", "Accepted", "Kind", "Publisher"],
      found.rows.enumerated().map { index, one in
        [
          view.time(one.dueAt), .link(view.link(to: one.key), one.id.text), Self.customer(one, view),
          Self.transaction(one, view), progress.map { $0[index].mark } ?? .span("unknown", class: "none"),
          view.time(one.registeredAt), .text(one.kind), .text("\(one.publisherId)"),
        ]
      })
  }

  static func customer(_ one: ConsoleSynchronization, _ view: ConsoleView) -> HTML {
    one.customerId.map { view.customer(CustomerKey(publisherId: one.publisherId, id: $0)) }
      ?? .span("erased", class: "none")
  }

  /// The transaction, with a link to its purchase if there is one.
  static func transaction(_ one: ConsoleSynchronization, _ view: ConsoleView) -> HTML {
    one.purchase.map { .link(view.link(to: $0), one.transactionId.text) } ?? .code(one.transactionId.text)
  }

  /// The same as JSON.
  var json: [UInt8] {
    page.json(Array(zip(found.rows, progress ?? Array(repeating: SynchronizationProgress(), count: found.rows.count))))
    {
      row, writer in writer.synchronization(row.0, row.1, view)
    }
  }
}

/// The synchronizations that have one id: one, unless a client has used it for several transactions.
struct SynchronizationPage {
  let view: ConsoleView
  let key: SynchronizationsKey
  let found: [ConsoleSynchronization]
  /// That of the one which is not finalized; `nil` if Redis does not answer.
  let progress: SynchronizationProgress?

  var html: Document {
    Layout.page(
      "Synchronization \(key.id)", view, search: key.id.text, at: .synchronizations,
      [
        .element(.p, [.class("above")], [.text("Synchronization at publisher \(key.publisherId)")]),
        .element(.h1, [.class("id")], [.text(key.id.text)]), view.region(.verdict, .all(found.map(verdict))),
        .p(
          .text(
            "Whoever registers a purchase chooses the id of the synchronization. So look whether it is the customer "
              + "whom you mean."), class: "none"),
      ])
  }

  private func verdict(_ one: ConsoleSynchronization) -> HTML {
    let isOver = one.finalizedAt != nil
    let event = one.eventId.map { HTML.link(view.link(to: EventKey(publisherId: key.publisherId, id: $0)), $0.text) }
    return .element(
      .div, [.class("verdict")],
      [
        .element(
          .h2, [],
          isOver ? [.text("Finalized "), view.time(one.finalizedAt)] : [.text("Next try "), view.time(one.dueAt)]),
        .facts([
          ("Result", one.result.map { .code($0) }),
          ("State", isOver ? nil : progress?.mark ?? .span("unknown: Redis does not answer", class: "none")),
          ("What helps", isOver ? nil : progress?.cause.map { .text($0.help) }),
          ("Customer", SynchronizationsPage.customer(one, view)),
          ("Transaction", SynchronizationsPage.transaction(one, view)), ("Kind", .text(one.kind)),
          ("Accepted", one.registeredAt.map { view.time($0) }), ("Event", event),
        ]), isOver ? .nothing : again,
      ])
  }

  private var again: HTML {
    guard view.person.role.acts, progress?.status == .retrying else { return .nothing }
    return .begin("Try now …", view.link(key.page + ["retry"]))
  }

  /// The same as JSON.
  var json: [UInt8] {
    JSONWriter.object { writer in
      writer.member("items", found) { one, writer in
        writer.synchronization(
          one, one.finalizedAt == nil ? progress ?? SynchronizationProgress() : SynchronizationProgress(), view)
      }
    }
  }
}

extension ConsoleSynchronization {
  var key: SynchronizationsKey { SynchronizationsKey(publisherId: publisherId, id: id) }
}

extension JSONWriter {
  fileprivate mutating func synchronization(
    _ one: ConsoleSynchronization, _ progress: SynchronizationProgress, _ view: ConsoleView
  ) {
    member("acceptedAt", one.registeredAt.map { rfc3339(milliseconds: $0) })
    member("cause", progress.cause?.rawValue)
    if view.person.role.seesPersonalData { member("customerId", one.customerId) }
    member("eventId", one.eventId)
    member("finalizedAt", one.finalizedAt.map { rfc3339(milliseconds: $0) })
    member("kind", one.kind)
    member("nextTryAt", one.dueAt.map { rfc3339(milliseconds: max(0, $0)) })
    member("originalTransactionId", one.purchase?.originalTransactionId)
    member("page", view.link(to: one.key).address)
    publisher(one.publisherId)
    member("result", one.result)
    member("status", one.finalizedAt != nil ? "finalized" : progress.status?.rawValue)
    member("synchronizationId", one.id)
    member("transactionId", one.transactionId)
  }
}
