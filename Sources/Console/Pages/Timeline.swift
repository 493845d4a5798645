import Formats
import JSON
import Ledger

extension HTML {
  /// Lines of a timeline, with our clock and Apple's side by side.
  static func timeline(_ caption: String, _ moments: [ConsoleMoment], _ view: ConsoleView) -> HTML {
    table(
      caption, ["Here", "Apple", "Kind", "What", "About", "Outcome", "Id"],
      moments.map { moment in
        [
          view.time(moment.at, otherwise: "under way"), view.time(moment.signedAt, otherwise: ""),
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
    member("at", moment.at.map { rfc3339(milliseconds: $0) })
    member("id", moment.id)
    member("kind", moment.kind.rawValue)
    member("outcome", moment.outcome)
    member("signedAt", moment.signedAt.map { rfc3339(milliseconds: $0) })
    member("what", moment.what)
  }
}
