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

  var html: Document {
    let lost = lost.map(rules.offers.name).joined(separator: ", ")
    return ActionPreview(
      view: view, title: "Release the purchase?",
      above: "Purchase \(purchase.key.originalTransactionId) of publisher \(purchase.key.publisherId)",
      facts: [
        ("Owner now", view.customer(customer)), ("Owner then", .text("nobody")),
        ("Product", .code(purchase.deciding.productId.text)),
        ("The owner loses", .text(lost.isEmpty ? "no access" : "access to \(lost), or a part of its time")),
      ], words: "The next customer who registers or restores the purchase gets it. Apple charges on as before.",
      action: view.link(toReleaseOf: purchase.key), fields: [("subscriptionId", "\(owner.subscriptionId)")],
      button: "Release the purchase", back: view.link(to: purchase.key), note: ActionPreview.noteOfAccess,
      refusal: refusal
    ).html
  }
}
