import AppleCalls
import Domain
import Formats

/// What a person may ask Apple about a text that may be an order id.
///
/// Nothing here knows an order id, so only Apple can tell. The person confirms it, because each question takes a call
/// from the budget of the publisher's apps.
struct OrderQuestion: Equatable {
  let id: OrderId
  /// The publishers that the person may choose from, each with an app that Apple can be asked about.
  let publishers: [PublisherId]

  /// Decides whether Apple can be asked: `nil` for a text without the form of an order id, for a person who only looks,
  /// and without an app in production.
  init?(_ text: String, _ view: ConsoleView, of publishers: [Publisher]) {
    let asked = publishers.filter { view.person.sees($0.id) && !OrderLookups.apps(of: $0).isEmpty }
    guard let id = Self.orderId(text), view.person.role.acts, !asked.isEmpty else { return nil }
    (self.id, self.publishers) = (id, asked.map(\.id))
  }

  /// Reads a text that may be an order id. Apple's have about ten letters and digits. A number is a transaction, and
  /// is here if anything knows it.
  static func orderId(_ text: String) -> OrderId? {
    guard text.utf8.count >= 6, text.utf8.contains(where: \.isASCIILetter) else { return nil }
    return OrderId(written: text)
  }

  /// The form that asks Apple.
  func form(_ view: ConsoleView) -> HTML {
    .section(
      "Is it an Apple order id?",
      [
        .p(.text("The receipt that Apple sends by e-mail has an order id. Only Apple knows its transactions.")),
        .element(
          .form, [.of(.method, "post"), .action(view.link(["orders"]))],
          [
            .element(.input, [.of(.type, "hidden"), .of(.name, "order"), .of(.value, id.text)]), publisher,
            .element(.button, [.of(.type, "submit")], [.text("Ask Apple")]),
          ]),
      ])
  }

  /// One publisher is asked, so that nobody uses up the budgets of all.
  private var publisher: HTML {
    if publishers.count == 1 {
      return .element(.input, [.of(.type, "hidden"), .of(.name, "publisher"), .of(.value, "\(publishers[0])")])
    }
    return .all([
      .element(.label, [.of(.for, "publisher")], [.text("Publisher ")]),
      .element(
        .select, [.of(.id, "publisher"), .of(.name, "publisher")],
        publishers.map { .element(.option, [.of(.value, "\($0)")], [.text("\($0)")]) }), .text(" "),
    ])
  }
}
