import Domain
import Ledger

/// What an erasure would take, and a form that does it once the person has typed the customer's id.
struct ErasurePreview {
  let view: ConsoleView
  let customer: CustomerKey
  let holdings: CustomerPurchases
  /// Why it was not done, if the person has tried, and what the person has typed.
  var refusal: String?
  var typed = ""

  var html: Document {
    let open = holdings.grants.filter { $0.state(at: view.now) == .open }.count
    let running = holdings.purchases.filter { $0.presentRenewal?.willRenew == true }.count
    return Layout.page(
      "Erase the customer?", view,
      [
        .element(.p, [.class("above")], [.text("Customer of publisher \(customer.publisherId)")]),
        .element(.h1, [.class("id")], [.text(customer.id.text)]), .refusal(refusal),
        .element(
          .div, [.class("verdict no")],
          [
            .element(.h2, [], [.text("Erase the customer?")]),
            .facts([
              ("Purchases that lose their owner, besides consumables", .text("\(holdings.purchases.count)")),
              ("Of them, subscriptions that renew", .text("\(running)")), ("Open grants", .text("\(open)")),
            ]),
            .p(
              .text(
                "Everything that names the customer goes: the e-mail address, the owners' periods, events, answers of "
                  + "webhook endpoints, consents, grants and notes. What Apple signed about the purchases stays, without an "
                  + "owner. Nobody can undo it, and Apple charges on: only the customer can cancel a subscription.")),
          ]),
        .confirm(
          view.link(toErasureOf: customer),
          asking: [
            .element(.label, [.of(.for, "customerId")], [.text("Type the customer's id")]),
            .element(
              .input,
              [
                .of(.id, "customerId"), .of(.name, "customerId"), .of(.type, "text"), .of(.value, typed),
                .of(.autocomplete, "off"), .of(.required, "required"), .of(.maxlength, "\(CustomerId.longest)"),
              ]),
          ], button: "Erase the customer", back: view.link(to: customer)),
        .p(.text("The audit log gets your name, and no longer the customer's id."), class: "none"),
      ])
  }

  /// What was done, for the person.
  static func words(_ erasure: Erasure) -> String {
    let counts = [
      (erasure.purchases, "purchases without an owner now"), (erasure.grants, "grants"),
      (erasure.notes, "notes"),
      (erasure.events, "events"), (erasure.undeliveredEvents, "events that go when they are delivered"),
      (erasure.synchronizations + erasure.openSynchronizations, "registrations without the customer's id"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return "The customer is erased. " + (counts.isEmpty ? "" : "Concerned: " + counts.joined(separator: ", ") + ".")
  }
}
