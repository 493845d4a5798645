import Domain
import Formats
import JSON
import Ledger

/// The imports that publishers brought over HTTP: how far each is, and what cannot work.
struct ImportsPage {
  let view: ConsoleView
  let question: ListQuestion
  var found = ConsoleRows<UploadedImport>()

  private var page: ListPage { ListPage(view: view, list: .imports, question: question, next: found.next) }

  var html: Document {
    page.html(
      lead: "Files of purchases that backends brought over HTTP. The command `countersign import` has its own report.",
      table: found.rows.isEmpty ? nil : table,
      empty: "No import is here. A backend begins one with POST /imports; it is kept for seven days.", isLive: true)
  }

  private var table: HTML {
    .table(
      "The newest first",
      ["Import", "Publisher", "State", "Rows", "Cannot work", "From", "Share of the budget", "Created", "Changed"],
      found.rows.map { one in
        [
          .code(one.id.text), .text("\(one.publisherId)"), state(one), rows(one.progress),
          .text(ConsoleNumber.text(Double(one.problemCount))), .text(one.wish.preset.rawValue),
          .text("\(one.wish.sharePerMille / 10) %"), view.time(one.createdAt), view.time(one.changedAt),
        ]
      })
  }

  private func state(_ one: UploadedImport) -> HTML {
    let mark = HTML.span(one.state.rawValue, class: one.state == .failed ? "mark bad" : "mark")
    // It may quote the file.
    guard let cause = one.cause, view.person.role.seesPersonalData else { return mark }
    return .all([mark, .element(.div, [.class("detail")], [.text(cause)])])
  }

  private func rows(_ progress: UploadedImport.Progress) -> HTML {
    guard let rows = progress.rows else { return .span("not read yet", class: "none") }
    let left = progress.done < rows ? progress.secondsLeft : nil
    let words = "\(ConsoleNumber.text(Double(progress.done))) of \(ConsoleNumber.text(Double(rows)))"
    return .text(words + (left.map { ", \(ConsoleTime.duration(min($0, 31_536_000) * 1000)) left" } ?? ""))
  }

  /// The same as JSON.
  var json: [UInt8] {
    page.json(found.rows) { one, writer in
      if view.person.role.seesPersonalData { writer.member("cause", one.cause) }
      writer.member("changedAt", rfc3339(milliseconds: one.changedAt))
      writer.member("createdAt", rfc3339(milliseconds: one.createdAt))
      writer.member("done", one.progress.done)
      writer.member("from", one.wish.preset.rawValue)
      writer.member("importId", one.id.text)
      writer.member("problemCount", one.problemCount)
      writer.publisher(one.publisherId)
      writer.member("rows", one.progress.rows)
      writer.member("state", one.state.rawValue)
    }
  }
}
