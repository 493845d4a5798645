/// What an action is going to do, and a button that does it.
struct ActionPreview {
  let view: ConsoleView
  /// A question, such as `Send the event again?`.
  let title: String
  /// What it is about.
  let above: String
  let facts: [(String, HTML?)]
  /// What happens then.
  let words: String
  /// Where the form goes.
  let action: Link
  /// What the form carries besides the step.
  var fields: [(name: String, value: String)] = []
  let button: String
  /// The page that has the action.
  let back: Link
  /// Why it was not done, if the person has tried.
  var refusal: String?

  var html: String {
    Layout.page(
      title, view,
      [
        .element(.p, [.class("above")], [.text(above)]), .element(.h1, [], [.text(title)]), .refusal(refusal),
        .element(.div, [.class("verdict")], [.facts(facts), .p(.text(words), class: "none")]),
        .element(
          .form, [.of(.method, "post"), .action(action), .class("confirm")],
          fields.map { .hidden($0.name, $0.value) } + [
            .hidden("step", "confirm"), .element(.button, [.of(.type, "submit")], [.text(button)]),
            .link(back, "Cancel"),
          ]), .p(.text("The audit log gets your name."), class: "none"),
      ])
  }
}
