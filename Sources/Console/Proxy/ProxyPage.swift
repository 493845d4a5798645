/// The pages of a console that does not sign people in itself.
struct ProxyPage {
  let prefix: String
  let title: String
  /// What the person can do, or tell who runs the console.
  let words: String
  var link = "Open the console"

  /// Why a request is nobody's.
  init(_ refusal: ProxyIdentity.Refusal, _ prefix: String) {
    self.prefix = prefix
    link = "Try again"
    switch refusal {
    case .unlisted:
      title = "Sign in at the proxy"
      words =
        "A proxy in front of this console signs people in, and this request has not come through it. Open the console "
        + "at the address that the people who run it have given you."
    case .noName:
      title = "Sign in at the proxy"
      words = "The proxy in front of this console has not said who you are. Sign in there."
    case .twice(let field):
      title = "No access"
      words = "The request has two fields \(field), so the console does not know who you are."
    case .unusable(let field):
      title = "No access"
      words =
        "The console cannot use the proxy's field \(field): a name has 1 to 100 characters of ASCII, and no space; "
        + "groups have no control characters, and 8192 bytes at most."
    case .noRole(let name):
      title = "No access"
      words = "You are \(name) at the proxy, and nobody has given you a role here."
    }
  }

  private init(_ prefix: String, _ title: String, _ words: String) {
    (self.prefix, self.title, self.words) = (prefix, title, words)
  }

  /// In place of the page that asks for a name and a password.
  static func signIn(_ prefix: String) -> ProxyPage {
    ProxyPage(prefix, "Countersign", "The proxy in front of this console signs people in. There is no other way in.")
  }

  /// In place of the end of a session.
  static func signOut(_ prefix: String) -> ProxyPage {
    ProxyPage(
      prefix, "Sign out at the proxy",
      "The proxy in front of this console has signed you in, so only the proxy can sign you out. The console has no "
        + "session of yours.")
  }

  var html: Document {
    Layout.document(
      title, prefix,
      [
        .element(
          .main, [.class("door")],
          [
            .element(.h1, [], [.text(title)]), .p(.text(words), class: "lead"), .p(.link(Link(prefix, []), link)),
          ])
      ])
  }
}

extension ProxyIdentity.Refusal {
  /// 401 if signing in helps.
  var status: Int {
    switch self {
    case .unlisted, .noName: 401
    case .twice, .unusable, .noRole: 403
    }
  }
}
