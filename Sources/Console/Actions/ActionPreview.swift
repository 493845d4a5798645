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
  /// What the person must fill in, or may change.
  var asking: [HTML] = []
  /// What the form asks for.
  var step = "confirm"
  let button: String
  /// The page that has the action.
  let back: Link
  /// What follows besides.
  var note = "The audit log gets your name."
  /// Why it was not done, if the person has tried.
  var refusal: String?

  /// The note where an action may change access.
  static let noteOfAccess =
    "The audit log gets your name. The publisher's services hear of a change within ten seconds."

  var html: Document {
    Layout.page(
      title, view,
      [
        .element(.p, [.class("above")], [.text(above)]), .element(.h1, [], [.text(title)]), .refusal(refusal),
        .element(.div, [.class("verdict")], [.facts(facts), .p(.text(words), class: "none")]),
        .confirm(action, fields, asking: asking, step: step, button: button, back: back),
        note.isEmpty ? .nothing : .p(.text(note), class: "none"),
      ])
  }
}
