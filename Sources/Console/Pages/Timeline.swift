import Formats
import JSON
import Ledger

extension HTML {
  /// What stands in the place of lines that could not be read.
  static func unread(_ what: String) -> HTML {
    element(
      .p, [.class("flag"), .of(.role, "status")],
      [.text("\(what) could not be read in time, and everything else is complete. Load the page again in a moment.")])
  }

  /// Lines of a timeline, with our clock and Apple's side by side.
  static func timeline(_ caption: String, _ moments: [ConsoleMoment], _ view: ConsoleView) -> HTML {
    table(
      caption, ["Here", "Apple", "Kind", "What", "About", "Outcome", "Id"],
      moments.map { moment in
        [
          view.time(moment.at), view.time(moment.signedAt, otherwise: ""),
          span(moment.kind.rawValue, class: "kind \(moment.kind.rawValue)"), text(moment.what),
          moment.about.map(code) ?? nothing, text(moment.outcome ?? ""), code(moment.id),
        ]
      })
  }
}

extension JSONWriter {
  /// Writes the members of a line of a timeline.
  mutating func moment(_ moment: ConsoleMoment) {
    member("about", moment.about)
    member("at", rfc3339(milliseconds: moment.at))
    member("id", moment.id)
    member("kind", moment.kind.rawValue)
    member("outcome", moment.outcome)
    member("signedAt", moment.signedAt.map { rfc3339(milliseconds: $0) })
    member("what", moment.what)
  }
}
