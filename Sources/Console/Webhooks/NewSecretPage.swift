import Domain

/// The new secret of an endpoint. No other page shows it, and this one only once.
struct NewSecretPage {
  let view: ConsoleView
  let key: EndpointKey
  let endpoint: WebhookEndpoint

  /// What the receiver needs: the shared secret, or the public half of a pair.
  private var shown: (name: String, text: String)? {
    guard let secret = endpoint.secrets.first?.key else { return nil }
    switch endpoint.signature {
    case .v1: return ("Secret", WebhookSecret.text(secret, endpoint.format))
    case .v1a: return WebhookSecret.publicText(secret).map { ("Public key", $0) }
    }
  }

  var html: Document {
    let ends = endpoint.secrets.compactMap(\.expiresAt).max()
    return Layout.page(
      "The new secret", view, at: .endpoints,
      [
        .element(.p, [.class("above")], [.text("Endpoint \(key.id) of publisher \(key.publisherId)")]),
        .element(.h1, [], [.text("The new secret")]),
        .element(
          .div, [.class("verdict yes")],
          [
            .facts([
              (shown?.name ?? "Secret", shown.map { HTML.code($0.text) } ?? HTML.text("not shown")),
              ("The old one signs", .text(ends.map { "until \(ConsoleTime.exact($0))" } ?? "no longer")),
            ]),
            .p(
              .text(
                "Copy it now: no page shows it again. Give it to whoever runs the receiver, and not by e-mail."),
              class: "none"),
          ]), .p(.link(view.link(to: key), "Back to the endpoint")),
      ])
  }
}
