import Configuration
import Coordination
import Domain
import Formats
import JSON
import Ledger

/// The configuration in effect: how each publisher is served, its apps and whether Apple refuses their keys, and what
/// the processes run with. It shows no secret.
struct ConfigurationPage {
  let view: ConsoleView
  let question: ListQuestion
  let found: ConsoleRows<Publisher>
  /// The files with mistakes of publishers that the person may see.
  let broken: [BrokenPublisher]
  let refusals: AppRefusals
  let settings: FleetSettings
  /// Whether Redis said what the processes tell.
  let isTold: Bool

  /// Takes a page of those publishers that the question is about.
  ///
  /// - Parameter beats: what the processes have told last; `nil` if Redis did not say it.
  init(view: ConsoleView, question: ListQuestion, _ publishers: Publishers, _ beats: [FleetBeat]? = []) {
    (self.view, self.question) = (view, question)
    (refusals, settings) = (AppRefusals(beats ?? []), FleetSettings(beats ?? []))
    isTold = beats != nil
    let asked = Set(question.publishers)
    let behind = publishers.all.filter { publisher in
      asked.contains(publisher.id) && question.after.map { publisher.id > $0.publisherId } ?? true
    }
    found = ConsoleRows(behind, limit: ListPage.most) { ConsolePlace(0, $0.id, "") }
    // Nobody can say whose a file without an id is: who sees all publishers sees it.
    broken = publishers.broken.filter { view.person.sees($0.id ?? 0) }
  }

  private var page: ListPage { ListPage(view: view, list: .configuration, question: question, next: found.next) }
  /// Whether the person needs to know more than that something is wrong.
  private var showsKeys: Bool { view.person.role.acts }
  /// The settings tell hosts, and belong to no publisher.
  private var showsSettings: Bool { FleetPage.showsProcesses(to: view.person) && question.after == nil }

  var html: Document {
    page.html(
      lead: "What the publishers' files say. This console has read them within the last half minute.",
      table: found.rows.isEmpty && broken.isEmpty ? nil : .all(mistakes + [publisherTable, appTable]),
      empty: "No publisher is here that you may see. An operator adds one with a file in the folder publishers.",
      below: showsSettings ? settings.html : .nothing)
  }

  private var mistakes: [HTML] {
    let silence =
      isTold
      ? []
      : [
        HTML.element(
          .div, [.class("flag"), .of(.role, "status")],
          [
            .p(
              .text(
                "Redis did not answer, so the processes' reports are missing. Load the page again in a moment."))
          ])
      ]
    return silence
      + broken.map { file in
        let use = file.isKept ? "The content from before counts still." : "Its callers get 503, and its jobs wait."
        let details = view.person.role == .operator ? file.mistakes.prefix(5).map { HTML.p(.text($0)) } : []
        return .element(
          .div, [.class("flag"), .of(.role, "status")],
          [
            .p(
              .element(.strong, [], [.text("The file \(file.file) has a mistake. ")]), .text("Since "),
              view.time(file.since), .text(". \(use)"))
          ] + details)
      }
  }

  private var publisherTable: HTML {
    .section(
      "Publishers",
      [
        .table(
          "How each is served",
          ["Publisher", "Mode", "Customers", "Sandbox", "Proof", "Restore", "Doors", "Offers", "Webhooks in the file"],
          found.rows.map { publisher in
            [
              .text("\(publisher.id)"), mode(publisher), .text(publisher.customers.rawValue),
              .text(publisher.sandboxAccess.words), .text(publisher.ownership.proof.words),
              .text(publisher.ownership.restore.rawValue),
              .text(publisher.doors.all.map(\.id.rawValue).joined(separator: ", ")),
              .text("\(publisher.offers.all.count)"), .text("\(publisher.webhooks.count)"),
            ]
          })
      ])
  }

  private func mode(_ publisher: Publisher) -> HTML {
    let mode = HTML.span(publisher.mode.rawValue, class: publisher.mode == .live ? "mark good" : "mark test")
    return publisher.isMigrating ? .all([mode, .text(" "), .span("is moving here", class: "mark test")]) : mode
  }

  private var appTable: HTML {
    let rows = found.rows.flatMap { publisher in publisher.apps.map { (publisher.id, $0) } }
    guard !rows.isEmpty else {
      let none = "No publisher here has an app, so nobody can register a purchase."
      return .section("Apps", [.p(.text(none), class: "none")])
    }
    return .section(
      "Apps",
      [
        .table(
          "Apple is called with the key of each",
          ["Publisher", "App", "Apple's id", "Key", "Does Apple take it?", "Environments", "Released"],
          rows.map { publisher, app in
            [
              .text("\(publisher)"), .code(app.bundleId.text), .text(app.appAppleId.map { "\($0)" } ?? ""),
              showsKeys ? .code(app.keyId.text) : .span("hidden from viewers", class: "none"),
              refusals.html(app, of: publisher, view),
              .text(app.environments.map(\.text).joined(separator: ", ")),
              .text(app.isReleased ? "yes" : "not yet"),
            ]
          }),
        .p(
          .text(
            "Only workers learn that Apple refuses a key, by their calls. If one is refused, the jobs of the app wait "
              + "until it is mended: see docs/operate/runbooks/apple-refuses-key.md."), class: "lead"),
      ])
  }

  /// The same as JSON.
  var json: [UInt8] {
    page.json(found.rows, more: writeFleet) { publisher, writer in
      writer.member("apps", publisher.apps) { app, writer in
        writer.member("appAppleId", app.appAppleId.map { "\($0)" })
        writer.member("bundleId", app.bundleId)
        writer.member("environments", array: app.environments.map { JSONWriter.text($0.text) })
        writer.member("isReleased", app.isReleased)
        if showsKeys { writer.member("keyId", app.keyId) }
        writer.member("refusals", refusals.of(app, of: publisher.id)) { refusal, writer in
          if showsKeys { writer.member("cause", refusal.cause) }
          writer.member("environment", refusal.environment)
          writer.member("since", rfc3339(milliseconds: refusal.since))
          writer.member("workers", Int64(refusal.workers))
        }
      }
      writer.member("customers", publisher.customers.rawValue)
      writer.member("doors", array: publisher.doors.all.map { JSONWriter.text($0.id.rawValue) })
      writer.member("hasMistake", broken.contains { $0.id == publisher.id })
      writer.member("isMigrating", publisher.isMigrating)
      writer.member("mode", publisher.mode.rawValue)
      writer.member("offers", array: publisher.offers.all.map { JSONWriter.text($0.id.text) })
      writer.publisher(publisher.id)
      writer.member("restore", publisher.ownership.restore.rawValue)
      writer.member("webhooksInFile", Int64(publisher.webhooks.count))
    }
  }
}

extension ConfigurationPage {
  /// Writes what belongs to no publisher.
  private func writeFleet(_ writer: inout JSONWriter) {
    writer.member("workersThatTell", Int64(refusals.workers))
    if showsSettings { settings.write(&writer) }
  }
}

extension SandboxAccess {
  /// Whose purchases from the sandbox give access.
  fileprivate var words: String {
    switch self {
    case .nobody: "nobody"
    case .everybody: "everybody"
    case .customers(let ids): "\(ids.count) customer\(ids.count == 1 ? "" : "s")"
    }
  }
}

extension OwnershipPolicy.Proof {
  /// What a customer must show.
  fileprivate var words: String {
    switch self {
    case .none: "none"
    case .appAccountToken: "account token"
    case .signedTransaction: "signed transaction"
    }
  }
}
