/// The page for somebody whom the provider knows, and who may not see the console.
struct RefusedPage {
  let prefix: String
  let refusal: OpenIDRoles.Refusal

  /// What the person tells who runs the console.
  private var cause: String {
    switch refusal {
    case .noName(let claim): "Your account has no \(claim), so the console does not know who you are."
    case .unverifiedEmail: "The provider has not checked that your e-mail address is yours."
    case .unusableName(let claim):
      "The console cannot use your account's \(claim): a name has 1 to 100 characters of ASCII, and no space."
    case .nameWithPassword(let name): "\(name) signs in with a password here, not with an account at the provider."
    case .usersUnreadable: "The console cannot read its file of users, so nobody can sign in with the provider now."
    case .noRole(let name): "You are \(name) at the provider, and nobody has given you a role here."
    }
  }

  var html: Document {
    Layout.document(
      "No access", prefix,
      [
        .element(
          .main, [.class("door")],
          [
            .element(.h1, [], [.text("No access")]), .p(.text(cause), class: "lead"),
            .p(.text("Show this page to the people who run this console. They know which accounts may see it.")),
            .p(.link(Link(prefix, ["sign-in"]), "Sign in with another account")),
          ])
      ])
  }
}
