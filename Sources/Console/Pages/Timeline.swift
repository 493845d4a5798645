import Domain
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

  /// What stands below a list that is cut.
  static var olderNotShown: HTML { p(text("Older ones are not shown."), class: "none") }

  /// Lines of a timeline, with our clock and Apple's side by side.
  static func timeline(
    _ caption: String, _ moments: [ConsoleMoment], _ view: ConsoleView, of publisher: PublisherId
  ) -> HTML {
    table(
      caption, ["Here", "Apple", "Kind", "What", "About", "Outcome", "Id"],
      moments.map { moment in
        [
          view.time(moment.at), view.time(moment.signedAt, otherwise: ""),
          span(moment.kind.rawValue, class: "kind \(moment.kind.rawValue)"),
          moment.kind == .note ? element(.div, [.class("note")], [text(moment.what)]) : text(moment.what),
          moment.about.map(code) ?? nothing, text(moment.detail ?? ""),
          moment.page(of: publisher).map { link(view.link($0), moment.id) } ?? code(moment.id),
        ]
      })
  }
}

extension ConsoleMoment {
  /// The segments of the page of what the line is about; `nil` if it has none of its own.
  fileprivate func page(of publisher: PublisherId) -> [String]? {
    switch kind {
    case .registration: SynchronizationsKey(publisherId: publisher, id: SynchronizationId(id)).page
    case .notification: NotificationKey(publisherId: publisher, uuid: NotificationUUID(id)).page
    case .event, .attempt: EventKey(publisherId: publisher, id: EventId(id)).page
    case .change where what == "event.resent": EventKey(publisherId: publisher, id: EventId(id)).page
    case .change where what == "jobs.retried":
      SynchronizationsKey(publisherId: publisher, id: SynchronizationId(id)).page
    case .ownership, .grant, .change, .note: nil
    }
  }
}

extension JSONWriter {
  /// Writes the members of a line of a timeline.
  mutating func moment(_ moment: ConsoleMoment) {
    member("about", moment.about)
    member("at", rfc3339(milliseconds: moment.at))
    member("id", moment.id)
    member("kind", moment.kind.rawValue)
    member("outcome", moment.detail)
    member("signedAt", moment.signedAt.map { rfc3339(milliseconds: $0) })
    member("what", moment.what)
  }
}
