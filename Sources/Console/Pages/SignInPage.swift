/// The page that asks for a name and a password, or leads to the provider.
struct SignInPage {
  let prefix: String
  /// The address to go on to.
  var next = ""
  var name = ""
  var takesPasswords = true
  /// The host of the provider; `nil` if there is none.
  var provider: String?
  /// Why the last attempt had no success.
  var mistake: String?

  var html: Document {
    Layout.document(
      "Sign in", prefix,
      [
        .element(
          .main, [.class("door")],
          [
            .element(.h1, [], [.text("Countersign")]),
            .p(.text("See why a customer has access, and since when."), class: "lead"),
            .element(.p, [.of(.role, "status"), .class("mistake")], [.text(mistake ?? "")]),
          ] + (takesPasswords ? [form] : []) + (provider.map { [way(to: $0)] } ?? []))
      ])
  }

  private var form: HTML {
    .element(
      .form, [.of(.method, "post"), .action(Link(prefix, ["sign-in"]))],
      field("name", "Name", "text", name, "username")
        + field("password", "Password", "password", "", "current-password")
        + [
          .element(.input, [.of(.type, "hidden"), .of(.name, "next"), .of(.value, next)]),
          .element(.button, [.of(.type, "submit")], [.text("Sign in")]),
        ])
  }

  private func field(_ id: String, _ label: String, _ type: String, _ value: String, _ complete: String) -> [HTML] {
    [
      .element(.label, [.of(.for, id)], [.text(label)]),
      .element(
        .input,
        [
          .of(.id, id), .of(.name, id), .of(.type, type), .of(.value, value), .of(.autocomplete, complete),
          .of(.maxlength, "1024"), .of(.required, "required"),
        ]),
    ]
  }

  /// A link and no form: browsers apply the policy for forms to where an answer leads on, too.
  private func way(to provider: String) -> HTML {
    let link = Link(prefix, ["sign-in", "openid"], query: next.isEmpty ? [] : [("next", next)])
    return .element(.a, [.class("way"), .href(link)], [.text("Sign in with \(provider)")])
  }
}
