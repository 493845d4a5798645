import Domain

/// Whether purchases from the sandbox give a customer access, on the customer's page, and the forms that change it.
struct SandboxSection {
  let view: ConsoleView
  let customer: CustomerKey
  /// Whether the publisher's file allows it, whatever an override says.
  let isAllowed: Bool
  /// The customer's last override; `nil` if there was none.
  let last: SandboxOverride?

  private var form: SandboxForm { view.typed(.allowSandbox(customer)).map(SandboxForm.init) ?? SandboxForm() }

  private var present: SandboxOverride? { last.flatMap { $0.state(at: view.now) == .open ? $0 : nil } }

  /// A line of the verdict; nothing without an override that decides.
  var line: HTML {
    guard let present, !isAllowed else { return .nothing }
    return .element(
      .p, [.class("flag"), .of(.role, "status")],
      [
        .element(.strong, [], [.text("Sandbox access by hand. ")]),
        .text("Purchases from Apple's sandbox give this customer access until "), view.clock(present.endsAt),
        .text("."),
      ])
  }

  var html: HTML {
    var pieces: [HTML] = []
    if isAllowed {
      pieces.append(
        .p(
          .text("The publisher's file lets sandbox purchases give this customer access, without an end."),
          class: "none"))
    }
    if let present {
      pieces.append(
        .facts([
          ("Sandbox access until", view.clock(present.endsAt)), ("Reason", .text(present.reason.words)),
          ("Note", present.note.map { .text($0) }), ("Set", view.time(present.setAt)),
        ]))
      if view.person.role.acts {
        pieces.append(
          .begin("Withdraw …", view.link(toSandboxWithdrawalOf: customer), label: "Withdraw sandbox access"))
      }
    }
    if view.person.role.acts { pieces.append(fields) }
    return pieces.isEmpty ? .nothing : .section("Sandbox", pieces)
  }

  private var fields: HTML {
    let reasons = SandboxOverride.Reason.allCases.map { (value: $0.rawValue, words: $0.words) }
    return .element(
      .details, view.isRefused(.allowSandbox(customer)) ? [.of(.open, "open")] : [],
      [
        .element(.summary, [], [.text("Sandbox access until …")]),
        .element(
          .form, [.of(.method, "post"), .action(view.link(toSandboxOf: customer)), .class("fields")],
          [
            .field(
              "sandbox-until", "Last day with sandbox access (UTC)",
              input("sandbox-until", "until", "date", form.until, [.of(.required, "required")])),
            .field("sandbox-reason", "Reason", .select("sandbox-reason", named: "reason", reasons, form.reason)),
            .field(
              "sandbox-note", "Note, for your own staff",
              input("sandbox-note", "note", "text", form.note, [.of(.maxlength, "\(SandboxOverride.longestNote)")])),
            .hidden("step", "preview"), .element(.button, [.of(.type, "submit")], [.text("Preview")]),
          ]),
      ])
  }

  private func input(_ id: String, _ name: String, _ type: String, _ value: String, _ more: [Attribute]) -> HTML {
    let attributes: [Attribute] = [
      .of(.id, id), .of(.name, name), .of(.type, type), .of(.value, value), .of(.autocomplete, "off"),
    ]
    return .element(.input, attributes + more)
  }
}

extension ConsoleView {
  func link(toSandboxOf customer: CustomerKey) -> Link { link(customer.page + ["sandbox"]) }

  func link(toSandboxWithdrawalOf customer: CustomerKey) -> Link { link(customer.page + ["sandbox", "withdraw"]) }
}
