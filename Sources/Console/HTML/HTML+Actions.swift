extension HTML {
  static func hidden(_ name: String, _ value: String) -> HTML {
    element(.input, [.of(.type, "hidden"), .of(.name, name), .of(.value, value)])
  }

  /// A button that begins an action: what changes something shows a preview first.
  ///
  /// - Parameter label: what it says to somebody who does not see the row that it stands in.
  static func begin(_ words: String, _ link: Link, label: String? = nil) -> HTML {
    let more = label.map { [Attribute.of(.label, $0)] } ?? []
    return element(
      .form, [.of(.method, "post"), .action(link), .class("inline")],
      [
        hidden("step", "preview"),
        element(.button, [.of(.type, "submit"), .class("quiet")] + more, [text(words)]),
      ])
  }

  /// A field with its label.
  static func field(_ id: String, _ label: String, _ control: HTML) -> HTML {
    element(.div, [], [element(.label, [.of(.for, id)], [text(label)]), control])
  }

  /// A choice of one of several values.
  ///
  /// - Parameter name: the field of the form, if not `id`.
  static func select(
    _ id: String, named name: String? = nil, _ options: [(value: String, words: String)], _ chosen: String
  ) -> HTML {
    element(
      .select, [.of(.id, id), .of(.name, name ?? id)],
      options.map { option in
        let isChosen = option.value == chosen
        return element(
          .option, [.of(.value, option.value)] + (isChosen ? [.of(.selected, "selected")] : []), [text(option.words)])
      })
  }

  /// The form below a preview: a button that does it, and the way back.
  ///
  /// - Parameters:
  ///   - fields: what the form carries besides the step.
  ///   - asking: what the person must fill in.
  ///   - step: what the form asks for; a preview if the person has not filled in everything yet.
  static func confirm(
    _ action: Link, _ fields: [(name: String, value: String)] = [], asking: [HTML] = [], step: String = "confirm",
    button: String, back: Link
  ) -> HTML {
    element(
      .form, [.of(.method, "post"), .action(action), .class("confirm")],
      asking + fields.map { hidden($0.name, $0.value) } + [
        hidden("step", step), element(.button, [.of(.type, "submit")], [text(button)]), link(back, "Cancel"),
      ])
  }

  /// Why something was not done.
  static func refusal(_ words: String?) -> HTML {
    guard let words else { return nothing }
    return element(
      .p, [.class("flag"), .of(.role, "alert")], [element(.strong, [], [text("Not done. ")]), text(words)])
  }
}
