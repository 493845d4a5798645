import Domain

/// The form that grants access, on the customer's page.
struct GrantFields {
  let view: ConsoleView
  let customer: CustomerKey
  let offers: [Offer]

  private var form: GrantForm { view.typed(.give(customer)).map(GrantForm.init) ?? GrantForm() }

  var html: HTML {
    let offerOptions = offers.map { (value: $0.id.text, words: $0.name) }
    let reasonOptions = Grant.Reason.allCases.map { (value: $0.rawValue, words: $0.words) }
    return .element(
      .details, view.isRefused(.give(customer)) ? [.of(.open, "open")] : [],
      [
        .element(.summary, [], [.text("Grant access by hand")]),
        .element(
          .form, [.of(.method, "post"), .action(view.link(toGrantsOf: customer)), .class("fields")],
          [
            .field("offerId", "Offer", .select("offerId", offerOptions, form.offer)),
            .field(
              "until", "Last day with access (UTC)", input("until", "date", form.until, [.of(.required, "required")])),
            .field("reason", "Reason", .select("reason", reasonOptions, form.reason)),
            .field(
              "note", "Note, for your own staff",
              input("note", "text", form.note, [.of(.maxlength, "\(Grant.longestNote)")])),
            .hidden("step", "preview"), .element(.button, [.of(.type, "submit")], [.text("Preview")]),
          ]),
      ])
  }

  private func input(_ id: String, _ type: String, _ value: String, _ more: [Attribute]) -> HTML {
    let attributes: [Attribute] = [
      .of(.id, id), .of(.name, id), .of(.type, type), .of(.value, value), .of(.autocomplete, "off"),
    ]
    return .element(.input, attributes + more)
  }
}
