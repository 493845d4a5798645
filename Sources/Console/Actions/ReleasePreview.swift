import Domain
import Ledger

/// What a release would take from the owner of a purchase, and a button that does it.
struct ReleasePreview {
  let view: ConsoleView
  let purchase: Purchase
  let owner: Owner
  let rules: AccessRules
  let holdings: CustomerPurchases
  /// Why it was not done, if the person has tried.
  var refusal: String?

  private var customer: CustomerKey { purchase.key.customer(owner.customerId) }

  private func entitlements(_ purchases: [Purchase]) -> [OfferEntitlement] {
    Entitlements.of(purchases: purchases, grants: holdings.grants, rules: rules, now: view.now)
  }

  /// The offers to which the owner loses the access, or a part of its time.
  var lost: [OfferId] {
    let left = entitlements(holdings.purchases.filter { $0.key != purchase.key })
    return entitlements(holdings.purchases).filter(\.accessGranted).filter { now in
      !left.contains { then in
        // Without an end it lasts for ever.
        then.offerId == now.offerId && then.accessGranted && (then.expiresAt ?? .max) >= (now.expiresAt ?? .max)
      }
    }.map(\.offerId)
  }

  var html: String {
    let lost = lost.map(rules.offers.name).joined(separator: ", ")
    return Layout.page(
      "Release the purchase?", view,
      [
        .element(
          .p, [.class("above")],
          [.text("Purchase \(purchase.key.originalTransactionId) of publisher \(purchase.key.publisherId)")]),
        .element(.h1, [], [.text("Release the purchase?")]), .refusal(refusal),
        .element(
          .div, [.class("verdict")],
          [
            .facts([
              ("Owner now", view.customer(customer)), ("Owner then", .text("nobody")),
              ("Product", .code(purchase.deciding.productId.text)),
              ("The owner loses", .text(lost.isEmpty ? "no access" : "access to \(lost), or a part of its time")),
            ]),
            .p(
              .text("The next customer who registers or restores the purchase gets it. Apple charges on as before."),
              class: "none"),
          ]),
        .element(
          .form, [.of(.method, "post"), .action(view.link(toReleaseOf: purchase.key)), .class("confirm")],
          [
            .hidden("subscriptionId", "\(owner.subscriptionId)"), .hidden("step", "confirm"),
            .element(.button, [.of(.type, "submit")], [.text("Release the purchase")]),
            .link(view.link(to: purchase.key), "Cancel"),
          ]),
        .p(
          .text("The audit log gets your name. The publisher's services hear of a change within ten seconds."),
          class: "none"),
      ])
  }
}
