import Domain
import Formats
import JSON
import Ledger

/// An endpoint: whether it gets its events, and its attempts, the newest first.
struct EndpointPage {
  let view: ConsoleView
  let endpoint: ConsoleEndpoint
  let state: ConsoleEndpoint.State
  /// `nil` if it could not be read.
  let backlog: ConsoleEndpoint.Backlog?
  let attempts: AttemptPage
  /// The last day; empty if it could not be read.
  var hours: [ConsoleEndpoint.Hour] = []
  /// What it shows of the attempts.
  var question = Question()

  /// The most attempts of a page.
  static let most = 50

  /// What somebody asks the page for: `?outcome=failed&after=PLACE`.
  struct Question: Sendable, Equatable {
    var outcome: DeliveryAttempt.Result?
    var after: String?

    init(outcome: DeliveryAttempt.Result? = nil, after: String? = nil) { (self.outcome, self.after) = (outcome, after) }

    /// Reads the question of an address; `nil` for values that have no meaning.
    init?(outcome: String, after: String) {
      let result = DeliveryAttempt.Result(rawValue: outcome)
      guard outcome.isEmpty || result != nil, after.isEmpty || DeliveryLedger.isCursor(after) else { return nil }
      self.init(outcome: result, after: after.isEmpty ? nil : after)
    }

    func query(after place: String?) -> [(name: String, value: String)] {
      (outcome.map { [(name: "outcome", value: $0.rawValue)] } ?? [])
        + (place.map { [(name: "after", value: $0)] } ?? [])
    }
  }

  var html: Document {
    Layout.page(
      "Endpoint \(endpoint.id)", view, at: .endpoints,
      [
        .element(.p, [.class("above")], [.text("Endpoint of publisher \(endpoint.publisherId)")]),
        .element(.h1, [.class("id")], [.text(endpoint.id.text)]),
        view.region(
          .verdict,
          .element(
            .div, [.class(state.isGood && endpoint.isKnown ? "verdict yes" : "verdict no")],
            [.element(.h2, [], verdict), facts, buttons])), recovery,
        view.region(.hours, EndpointPicture(hours: hours).html), log,
        view.region(.answers, .answers(attempts.entries.map(\.attempt), view) { "to \($0.eventId)" }),
      ])
  }

  private var verdict: [HTML] {
    guard endpoint.isKnown else { return [.text("It is deleted")] }
    if let disabled = state.health.disabled {
      return [.text("Gets nothing: disabled "), view.time(disabled.at)]
    }
    guard let since = state.health.failingSince else { return [.text("Gets its events")] }
    return [.text("Every attempt has failed since "), view.clock(since)]
  }

  private var facts: HTML {
    .facts([
      ("Sent to", endpoint.url.isEmpty ? nil : .code(endpoint.shownURL(to: view.person.role))),
      ("Name", endpoint.name.isEmpty ? nil : .text(endpoint.name)),
      ("Topics", endpoint.topics.isEmpty ? nil : .text(endpoint.topics.map(\.text).joined(separator: ", "))),
      ("Managed by", endpoint.isKnown ? .text(endpoint.managed) : nil),
      ("Created", endpoint.createdAt.map { view.time($0) }),
      ("Disabled because", state.health.disabled.map { .text($0.reason.words) }),
      ("Success of the newest attempts, last day", .text(state.success ?? "no attempt")),
      ("Half of them were faster than", state.medianMilliseconds.map { .text(ConsoleTime.milliseconds($0)) }),
      ("Last delivery, of them", state.lastDeliveredAt.map { view.time($0) }),
      ("Waiting for an attempt", backlog.map { .text(Self.words($0)) } ?? .span("not read in time", class: "none")),
      ("The oldest of them happened", backlog?.oldest.map { view.time($0) }),
    ])
  }

  /// What the reader may do to it now.
  private var buttons: HTML {
    let possible = EndpointChange.possible(endpoint, state, by: view.person.role)
    guard !possible.isEmpty else { return .nothing }
    return .element(
      .div, [.class("buttons")], possible.map { .begin($0.button, view.link(to: $0, endpoint.key)) })
  }

  /// How many wait, as far as they were looked at.
  static func words(_ backlog: ConsoleEndpoint.Backlog) -> String {
    backlog.isWhole
      ? "\(backlog.waiting)"
      : "\(backlog.waiting) or more: only \(ConsoleEndpoints.mostOpen) open deliveries of the fleet were looked at"
  }

  // MARK: Recovery

  private var recovery: HTML {
    let recover = ConsoleRoute.Action.recover(endpoint.key)
    guard view.person.role.acts, endpoint.isKnown, endpoint.source != "forward" else { return .nothing }
    guard state.health.disabled == nil else {
      return .p(
        .text("Enable it first. Then the events that it has missed can be sent again."), class: "none")
    }
    return .element(
      .details, view.isRefused(recover) ? [.of(.open, "open")] : [],
      [
        .element(.summary, [], [.text("Send again what it has missed")]),
        .element(
          .form, [.of(.method, "post"), .action(view.link(endpoint.key.page + ["recover"])), .class("fields")],
          [
            .hidden("step", "preview"),
            .element(
              .div, [],
              [
                .element(.label, [.of(.for, "since")], [.text("Given up since the day (UTC)")]),
                .element(
                  .input,
                  [
                    .of(.id, "since"), .of(.name, "since"), .of(.type, "date"), .of(.required, ""),
                    .of(.value, view.typed(recover)?["since"] ?? ""),
                  ]),
              ]), .element(.button, [.of(.type, "submit")], [.text("Preview")]),
          ]),
      ])
  }

  // MARK: Attempts

  private var log: HTML {
    let outcomes = [("", "all")] + DeliveryAttempt.Result.allCases.map { ($0.rawValue, $0.rawValue) }
    let filter = HTML.element(
      .form, [.of(.method, "get"), .action(view.link(to: endpoint.key)), .class("filters")],
      [
        ListPage.field("outcome", "Outcome", outcomes, chosen: question.outcome?.rawValue ?? ""),
        .element(.button, [.of(.type, "submit"), .class("quiet")], [.text("Show")]),
      ])
    let empty =
      attempts.next != nil
      ? "None of the attempts of this page has this outcome. Older ones are on the next page."
      : "There is no such attempt. The ledger keeps attempts for a while only."
    return .section(
      "Attempts",
      [
        filter,
        view.region(
          .attempts,
          attempts.entries.isEmpty
            ? .p(.text(empty), class: "none")
            : .attempts("The newest first", attempts.entries.map(\.attempt), view, of: endpoint.publisherId), wayOn),
      ])
  }

  private var wayOn: HTML {
    func page(_ place: String?) -> Link { view.link(to: endpoint.key, query: question.query(after: place)) }
    return .pages(first: question.after == nil ? nil : page(nil), next: attempts.next.map(page))
  }

  /// The same as JSON.
  var json: [UInt8] {
    JSONWriter.object { writer in
      writer.member("backlog", backlog?.waiting)
      writer.member("endpoint") { $0.endpoint(endpoint, state, view) }
      writer.member("items", attempts.entries) { entry, writer in writer.attempt(entry.attempt, view) }
      writer.member(
        "next",
        attempts.next.map { place in
          var page = endpoint.key.page
          page[0] += ".json"
          return view.link(page, query: question.query(after: place)).address
        })
      writer.member("oldest", backlog?.oldest.map { rfc3339(milliseconds: $0) })
    }
  }
}

extension EndpointHealth.Reason {
  /// For people.
  var words: String {
    switch self {
    case .gone: "it answered 410"
    case .failing: "every attempt had failed for too long"
    case .request: "the publisher disabled it"
    }
  }
}

extension HTML {
  /// Attempts with links to their events.
  static func attempts(
    _ caption: String, _ attempts: [DeliveryAttempt], _ view: ConsoleView, of publisher: PublisherId
  ) -> HTML {
    table(
      caption, ["When", "Event", "Topic"] + DeliveryAttempt.columns,
      attempts.map { attempt in
        [
          view.time(attempt.time),
          link(view.link(to: EventKey(publisherId: publisher, id: attempt.eventId)), attempt.eventId.text),
          text(attempt.topic.text),
        ] + attempt.cells(view)
      })
  }
}

extension HTML {
  /// The beginning of each answer, as the endpoint has sent it.
  ///
  /// - Parameter which: says which attempt it answers.
  static func answers(
    _ attempts: [DeliveryAttempt], _ view: ConsoleView, _ which: (DeliveryAttempt) -> String
  ) -> HTML {
    let answered = attempts.filter { $0.answer != nil }
    guard !answered.isEmpty else { return .nothing }
    guard view.person.role.seesPersonalData else {
      return .section(
        "Answers", [.p(.text("Hidden from viewers: its answer may say something about the customer."), class: "none")])
    }
    return .section(
      "Answers",
      answered.map { attempt in
        .element(
          .details, [],
          [
            .element(
              .summary, [],
              [
                .text("\(attempt.status.map { "\($0)" } ?? "no status") \(which(attempt)), "), view.time(attempt.time),
              ]), .element(.pre, [.of(.tabindex, "0")], [.text(attempt.answer ?? "")]),
          ])
      })
  }
}

extension DeliveryAttempt {
  /// The columns of ``cells(_:)``.
  static let columns = ["Attempt", "Outcome", "Status", "Took", "Next try", "Error"]

  /// How it went, for a table.
  func cells(_ view: ConsoleView) -> [HTML] {
    [
      .text("\(number)"), result.mark, .text(status.map { "\($0)" } ?? "–"),
      .text(ConsoleTime.milliseconds(durationMilliseconds)),
      view.time(nextAt), .text(error ?? ""),
    ]
  }
}
