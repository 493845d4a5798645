extension HTML {
  static func p(_ pieces: HTML..., class names: String? = nil) -> HTML {
    element(.p, names.map { [.class($0)] } ?? [], pieces)
  }

  static func span(_ text: String, class names: String) -> HTML {
    element(.span, [.class(names)], [.text(text)])
  }

  static func link(_ link: Link, _ text: String) -> HTML { element(.a, [.href(link)], [.text(text)]) }

  /// An id, in a type that tells similar characters apart.
  static func code(_ text: String) -> HTML { element(.code, [], [.text(text)]) }

  /// A time as a person reads it, with the exact one on hover.
  static func time(_ time: Int64?, now: Int64, otherwise: String = "–") -> HTML {
    guard let time else { return span(otherwise, class: "none") }
    let exact = ConsoleTime.exact(time)
    return element(
      .time, [.of(.datetime, ConsoleTime.machine(time)), .title(exact)], [.text(ConsoleTime.near(time, now: now))])
  }

  /// A table with a caption. A row has one cell for each column.
  static func table(_ caption: String, _ columns: [String], _ rows: [[HTML]]) -> HTML {
    let head = columns.map { element(.th, [.of(.scope, "col")], [.text($0)]) }
    // A narrow window scrolls it, and so must the keyboard (WCAG 2.2, 2.1.1).
    return element(
      .div, [.class("scroll"), .of(.tabindex, "0"), .of(.role, "region"), .of(.label, caption)],
      [
        element(
          .table, [],
          [
            element(.caption, [], [.text(caption)]), element(.thead, [], [element(.tr, [], head)]),
            element(.tbody, [], rows.map { row in element(.tr, [], row.map { element(.td, [], [$0]) }) }),
          ])
      ])
  }

  /// Names with their values. A value that is missing has no line.
  static func facts(_ facts: [(String, HTML?)]) -> HTML {
    element(
      .dl, [],
      facts.flatMap { name, value in
        value.map { [element(.dt, [], [.text(name)]), element(.dd, [], [$0])] } ?? []
      })
  }

  /// The links to other pages of a list.
  static func pages(first: Link?, next: Link?) -> HTML {
    let links = [first.map { link($0, "First page") }, next.map { link($0, "Next page") }].compactMap { $0 }
    return links.isEmpty ? nothing : element(.p, [.class("pages")], links)
  }

  static func section(_ title: String, _ pieces: [HTML]) -> HTML {
    element(.section, [], [element(.h2, [], [.text(title)])] + pieces)
  }
}
