/// The frame of every page.
enum Layout {
  /// A page for somebody who has signed in.
  ///
  /// - Parameter list: the list that the page is.
  static func page(
    _ title: String, _ view: ConsoleView, search: String = "", at list: ConsoleList? = nil, _ content: [HTML]
  ) -> Document {
    document(
      title, view.prefix,
      [
        .element(
          .header, [],
          [
            .element(.a, [.class("brand"), .href(view.link([]))], [.text("Countersign")]),
            find(view, search),
            .element(
              .form, [.of(.method, "post"), .action(view.link(["sign-out"])), .class("who")],
              [
                .span(view.person.name, class: "name"), .span(view.person.role.rawValue, class: "role"),
                .element(.button, [.of(.type, "submit"), .class("quiet")], [.text("Sign out")]),
              ]), lists(view, list),
          ]), .element(.main, [.of(.id, "main")], [.refusal(view.refused?.words)] + content),
      ])
  }

  private static func lists(_ view: ConsoleView, _ present: ConsoleList?) -> HTML {
    .element(
      .nav, [.of(.label, "Pages")],
      [.link(view.link([]), "Find")]
        + ConsoleList.allCases.map { list in
          let mark = list == present ? [Attribute.of(.current, "page")] : []
          return .element(.a, [.href(view.link([list.rawValue]))] + mark, [.text(list.title)])
        } + (view.playsLives ? [.link(view.link(["play"]), "Play a life")] : []))
  }

  private static func find(_ view: ConsoleView, _ search: String) -> HTML {
    .element(
      .form, [.of(.method, "get"), .action(view.link(["find"])), .class("find"), .of(.role, "search")],
      [
        .element(.label, [.of(.for, "q"), .class("hidden")], [.text("Find by any id")]),
        .element(
          .input,
          [
            .of(.id, "q"), .of(.name, "q"), .of(.type, "search"), .of(.value, search), .of(.maxlength, "512"),
            .of(.placeholder, "Customer, transaction, notification, event …"), .of(.autocomplete, "off"),
          ]), .element(.button, [.of(.type, "submit")], [.text("Find")]),
      ])
  }

  /// A page for anybody.
  static func document(_ title: String, _ prefix: String, _ content: [HTML]) -> Document {
    HTML.document(
      prefix,
      head: [
        .element(.meta, [.of(.charset, "utf-8")]),
        .element(.meta, [.of(.name, "viewport"), .of(.content, "width=device-width, initial-scale=1")]),
        .element(.meta, [.of(.name, "color-scheme"), .of(.content, "light dark")]),
        .element(.title, [], [.text("\(title) · Countersign")]),
        .element(.link, [.of(.rel, "stylesheet"), .href(Link(prefix, ["style.css"]))]),
      ], body: content)
  }

  /// A page with one message, and the way on.
  static func message(_ title: String, _ view: ConsoleView, _ text: String, back: Link) -> Document {
    let words = back == view.link([]) ? "Find by any id" : "Back to the page"
    return page(
      title, view,
      [
        .element(.h1, [], [.text(title)]), .p(.text(text), class: "lead"),
        .element(.p, [.class("pages")], [.link(back, words)]),
      ])
  }
}
