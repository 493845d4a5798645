/// The page that asks for a name and a password.
struct SignInPage {
  let prefix: String
  /// The address to go on to.
  var next = ""
  var name = ""
  /// Why the last attempt had no success.
  var mistake: String?

  var html: String {
    let field: (String, String, String, String, String) -> [HTML] = { id, label, type, value, complete in
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
    return Layout.document(
      "Sign in", prefix,
      [
        .element(
          .main, [.class("door")],
          [
            .element(.h1, [], [.text("Countersign")]),
            .p(.text("See why a customer has access, and since when."), class: "lead"),
            .element(
              .form, [.of(.method, "post"), .action(Link(prefix, ["sign-in"]))],
              [
                .element(
                  .p, [.of(.role, "status"), .class("mistake")], [.text(mistake ?? "")])
              ] + field("name", "Name", "text", name, "username")
                + field("password", "Password", "password", "", "current-password")
                + [
                  .element(.input, [.of(.type, "hidden"), .of(.name, "next"), .of(.value, next)]),
                  .element(.button, [.of(.type, "submit")], [.text("Sign in")]),
                ]),
          ])
      ])
  }
}
