import Domain

/// A note as a person writes it.
struct NoteForm: Equatable {
  /// The most characters of a note.
  static let longest = 2000

  /// Drawn for the preview, so that the form keeps one note however often it is sent.
  var id = ""
  var text = ""

  init() {}

  /// Reads a form. A browser ends lines as HTTP does; the ledger keeps plain ends.
  init(_ body: FormBody) {
    (id, text) = (body["noteId"] ?? "", (body["text"] ?? "").replacing("\r\n", with: "\n"))
  }

  /// Why the text cannot be kept; `nil` if it can.
  var defect: String? {
    let isBlank = text.unicodeScalars.allSatisfy { $0.properties.isWhitespace }
    if isBlank { return "Write the note first." }
    if text.utf8.contains(0) { return "The note has a character that cannot be kept." }
    return text.unicodeScalars.count > Self.longest ? "The note may have \(Self.longest) characters." : nil
  }

  /// The form on the customer's page.
  static func html(_ customer: CustomerKey, _ view: ConsoleView) -> HTML {
    let form = view.typed(.note(customer)).map(NoteForm.init) ?? NoteForm()
    return .element(
      .details, view.isRefused(.note(customer)) ? [.of(.open, "open")] : [],
      [
        .element(.summary, [], [.text("Write a note")]),
        .element(
          .form, [.of(.method, "post"), .action(view.link(toNotesOf: customer)), .class("fields")],
          [
            .field(
              "text", "For your colleagues. An export of the customer has it, and the erasure takes it away",
              .element(
                .textarea,
                [.of(.id, "text"), .of(.name, "text"), .of(.maxlength, "\(longest)"), .of(.required, "required")],
                [.text(form.text)])), .hidden("step", "preview"),
            .element(.button, [.of(.type, "submit")], [.text("Preview")]),
          ]),
      ])
  }
}

extension ConsoleView {
  func link(toNotesOf customer: CustomerKey) -> Link { link(customer.page + ["notes"]) }
}
