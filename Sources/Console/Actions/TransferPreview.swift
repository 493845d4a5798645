import Domain
import Ledger

/// What a transfer would take from the owner of a purchase and give to another customer, and a button that does it.
struct TransferPreview {
  /// A customer's side: what the customer has now.
  struct Side {
    let customer: CustomerKey
    let rules: AccessRules
    let holdings: CustomerPurchases

    fileprivate func entitlements(_ purchases: [Purchase], now: Int64) -> [OfferEntitlement] {
      Entitlements.of(purchases: purchases, grants: holdings.grants, rules: rules, now: now)
    }
  }

  /// An offer to which a customer's access changes.
  struct Difference: Equatable {
    let customer: CustomerKey
    let offer: OfferId
    let before: OfferEntitlement?
    let after: OfferEntitlement?
  }

  let view: ConsoleView
  let purchase: Purchase
  /// `nil` if nobody owns the purchase.
  let from: Side?
  let to: Side
  /// The id of the synchronization that the form makes.
  let id: String
  /// Why it was not done, if the person has tried.
  var refusal: String?

  /// What the domain decides about the transfer now.
  var decision: TransferDecision {
    .decide(
      purchase, to: to.customer.id,
      givesAccess: Access.of(purchase, rules: to.rules, now: view.now).isGranted)
  }

  /// What changes for the two, the owner's first.
  var differences: [Difference] {
    let others = to.holdings.purchases.filter { $0.key != purchase.key }
    let taken = from.map { from in differences(from, from.holdings.purchases.filter { $0.key != purchase.key }) } ?? []
    return taken + differences(to, others + [purchase])
  }

  private func differences(_ side: Side, _ then: [Purchase]) -> [Difference] {
    let (before, after) = (
      side.entitlements(side.holdings.purchases, now: view.now), side.entitlements(then, now: view.now)
    )
    return Set((before + after).map(\.offerId)).sorted().compactMap { offer in
      let (was, present) = (before.first { $0.offerId == offer }, after.first { $0.offerId == offer })
      guard was?.accessGranted ?? false || present?.accessGranted ?? false,
        was?.accessGranted ?? false != present?.accessGranted ?? false || was?.expiresAt != present?.expiresAt
      else { return nil }
      return Difference(customer: side.customer, offer: offer, before: was, after: present)
    }
  }

  private var changes: HTML {
    let differences = differences
    guard !differences.isEmpty else {
      return .p(.text("Nobody's access changes: both have the same by something else."), class: "none")
    }
    return .table(
      "Whose access changes", ["Customer", "Offer", "Now", "Then"],
      differences.map { one in
        let rules = one.customer == to.customer ? to.rules : from?.rules ?? to.rules
        return [
          view.customer(one.customer), .text(rules.offers.name(of: one.offer)), view.access(one.before),
          view.access(one.after),
        ]
      })
  }

  var html: Document {
    let isNew = !to.holdings.isKnown
    return Layout.page(
      "Transfer the purchase?", view,
      [
        .element(.p, [.class("above")], [.text(Self.above(purchase.key))]),
        .element(.h1, [], [.text("Transfer the purchase?")]), .refusal(refusal),
        isNew
          ? .element(
            .p, [.class("flag"), .of(.role, "status")],
            [
              .element(.strong, [], [.text("New here. ")]),
              .text("The ledger knows nothing about customer \(to.customer.id) yet. Check the id: capitals count."),
            ]) : .nothing,
        .element(
          .div, [.class("verdict")],
          [
            .facts([
              ("Owner now", from.map { view.customer($0.customer) } ?? .span("nobody", class: "none")),
              ("Owner then", view.customer(to.customer)), ("Product", .code(purchase.deciding.productId.text)),
            ]), changes,
            .p(
              .text(
                "Apple charges the same Apple Account as before. If the owner before registers the purchase again, the "
                  + "publisher's rule for restoring decides."), class: "none"),
          ]),
        .confirm(
          view.link(toTransferOf: purchase.key),
          [
            ("to", to.customer.id.text), ("id", id), ("subscriptionId", Self.text(purchase.owner)),
            ("transactionId", purchase.deciding.transactionId.text), ("seen", "\(view.now)"),
          ],
          button: "Transfer the purchase", back: view.link(to: purchase.key)),
        .p(.text(ActionPreview.noteOfAccess), class: "none"),
      ])
  }

  static func above(_ purchase: PurchaseKey) -> String {
    "Purchase \(purchase.originalTransactionId) of publisher \(purchase.publisherId)"
  }

  /// The period of ownership as the form names it.
  static func text(_ owner: Owner?) -> String { owner.map { "\($0.subscriptionId)" } ?? "" }

  /// Asks for the customer who shall get it.
  static func question(
    _ purchase: Purchase, to text: String, _ refusal: String?, _ view: ConsoleView
  ) -> ActionPreview {
    let owner = purchase.owner.map { view.customer(purchase.key.customer($0.customerId)) }
    return ActionPreview(
      view: view, title: "Transfer the purchase", above: above(purchase.key),
      facts: [
        ("Owner now", owner ?? .span("nobody", class: "none")), ("Product", .code(purchase.deciding.productId.text)),
      ], words: "A purchase that gives no access now cannot be transferred. The next page shows what changes for both.",
      action: view.link(toTransferOf: purchase.key),
      asking: [
        .field(
          "to", "The id of the customer who gets it",
          .element(
            .input,
            [
              .of(.id, "to"), .of(.name, "to"), .of(.type, "text"), .of(.value, text), .of(.autocomplete, "off"),
              .of(.required, "required"), .of(.maxlength, "\(CustomerId.longest)"),
            ]))
      ], step: "preview", button: "Preview", back: view.link(to: purchase.key), note: "", refusal: refusal)
  }
}

extension TransferDecision {
  /// Why nothing is transferred, for people; `nil` if it is.
  var refusal: String? {
    switch self {
    case .transferred: nil
    case .unchanged: "The customer owns the purchase already."
    case .notActive:
      "The purchase would give this customer no access now, so it cannot be transferred. Release it instead: the next "
        + "customer who registers it gets it."
    }
  }
}

extension ConsoleView {
  func link(toTransferOf purchase: PurchaseKey) -> Link { link(purchase.page + ["transfer"]) }
}
