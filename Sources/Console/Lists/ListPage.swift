import Domain
import JSON
import Ledger

/// The frame of every list: what it is, the choice of a publisher, a table or what to do if it is empty, the way on.
struct ListPage {
  let view: ConsoleView
  let list: ConsoleList
  let question: ListQuestion
  /// Where the next page begins; `nil` on the last one.
  var next: ConsolePlace?

  /// The most rows of a page.
  static let most = 50

  /// - Parameters:
  ///   - lead: what the list is for.
  ///   - filters: the fields of the list's own filters.
  ///   - table: `nil` if there is no row.
  ///   - empty: what that means, and what to do.
  ///   - soFar: what it means where more may follow.
  ///   - isLive: whether the table is a region that the script reads again.
  ///   - below: what stands below the table.
  func html(
    lead: String, filters: [HTML] = [], table: HTML?, empty: String,
    soFar: String = "None is on this page. There may be some on the next one.", isLive: Bool = false,
    below: HTML = .nothing
  ) -> Document {
    let content = HTML.all([content(table, next == nil ? empty : soFar), wayOn])
    return Layout.page(
      list.title, view, at: list,
      [
        .element(.h1, [], [.text(list.title)]), .p(.text(lead), class: "lead"), choice(filters),
        isLive && !question.needsChoice ? view.region(.list, content) : content, below,
      ])
  }

  /// The same as JSON.
  ///
  /// - Parameter more: writes what stands beside the rows.
  func json<Row>(
    _ rows: [Row], more: (inout JSONWriter) -> Void = { _ in }, _ write: (Row, inout JSONWriter) -> Void
  ) -> [UInt8] {
    JSONWriter.object { writer in
      writer.member("items", rows, write)
      writer.member("next", next.map { link(after: $0, isJSON: true).address })
      writer.member("page", link(after: question.after).address)
      more(&writer)
    }
  }

  private func link(after place: ConsolePlace?, isJSON: Bool = false) -> Link {
    view.link([list.rawValue + (isJSON ? ".json" : "")], query: question.query(after: place))
  }

  // MARK: Pieces

  private func content(_ table: HTML?, _ empty: String) -> HTML {
    if question.needsChoice {
      return .p(.text("You see \(question.choices.count) publishers. Choose one, and press Show."), class: "none")
    }
    if let table { return table }
    // An empty page may stand behind a full one.
    return .p(.text(question.after == nil || next != nil ? empty : "Nothing more is here."), class: "none")
  }

  private func choice(_ filters: [HTML]) -> HTML {
    let publishers = question.choices.count > 1 ? [publisherField] : []
    guard !(publishers + filters).isEmpty else { return .nothing }
    return .element(
      .form, [.of(.method, "get"), .action(view.link([list.rawValue])), .class("filters")],
      publishers + filters + [.element(.button, [.of(.type, "submit"), .class("quiet")], [.text("Show")])])
  }

  private var publisherField: HTML {
    let all = question.choices.count > question.mostPublishers ? "choose one" : "all"
    return Self.field(
      "publisher", "Publisher", [("", all)] + question.choices.map { ("\($0)", $0 == 0 ? "none" : "\($0)") },
      chosen: question.publisher.map { "\($0)" } ?? "")
  }

  /// A choice among values, each with its words.
  static func field(_ name: String, _ label: String, _ options: [(value: String, words: String)], chosen: String)
    -> HTML
  {
    .element(
      .label, [],
      [
        .text("\(label) "),
        .element(
          .select, [.of(.name, name)],
          options.map { option in
            let mark = option.value == chosen ? [Attribute.of(.selected, "selected")] : []
            return .element(.option, [.of(.value, option.value)] + mark, [.text(option.words)])
          }),
      ])
  }

  private var wayOn: HTML {
    .pages(first: question.after == nil ? nil : link(after: nil), next: next.map { link(after: $0) })
  }
}
