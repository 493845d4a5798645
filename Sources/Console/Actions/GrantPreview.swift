import Domain
import Ledger

/// What a change of a grant would do, and a button that does it.
struct GrantPreview {
  /// What the person wants to do.
  enum Change: Equatable {
    case give(Grant)
    case withdraw(Grant)

    var grant: Grant {
      switch self {
      case .give(let grant), .withdraw(let grant): grant
      }
    }
  }

  let view: ConsoleView
  let change: Change
  /// What the form sends again.
  let form: GrantForm
  let rules: AccessRules
  let holdings: CustomerPurchases
  /// Why it was not done, if the person has tried.
  var refusal: String?

  private var customer: CustomerKey { change.grant.customer }

  /// The customer's access to the offer, with these grants.
  private func entitlement(_ grants: [Grant]) -> OfferEntitlement? {
    Entitlements.of(purchases: holdings.purchases, grants: grants, rules: rules, now: view.now)
      .first { $0.offerId == change.grant.offerId }
  }

  var before: OfferEntitlement? { entitlement(holdings.grants) }

  var after: OfferEntitlement? {
    let others = holdings.grants.filter { $0.id != change.grant.id }
    switch change {
    case .give(let grant): return entitlement(others + [grant])
    case .withdraw: return entitlement(others)
    }
  }

  private var name: String { rules.offers.name(of: change.grant.offerId) }

  private var title: String {
    switch change {
    case .give: "Grant access?"
    case .withdraw: "Withdraw the grant?"
    }
  }

  private var address: Link {
    switch change {
    case .give: view.link(toGrantsOf: customer)
    case .withdraw(let grant): view.link(toWithdrawalOf: grant.id, customer)
    }
  }

  private var reasonOfNoChange: String {
    rules.offers.contains(change.grant.offerId)
      ? "something else gives the access"
      : "the publisher's file has no offer \(change.grant.offerId) now, so a grant of it gives no access"
  }

  var html: Document {
    let grant = change.grant
    let isSame = before?.accessGranted == after?.accessGranted && before?.expiresAt == after?.expiresAt
    return Layout.page(
      title, view,
      [
        .element(.p, [.class("above")], [.text("Customer \(customer.id) of publisher \(customer.publisherId)")]),
        .element(.h1, [], [.text(title)]), .refusal(refusal),
        .element(
          .div, [.class("verdict")],
          [
            .element(.h2, [], [.text(name)]),
            .facts([
              ("Now", view.access(before)), ("Then", view.access(after)),
              ("Grant ends", .text(ConsoleTime.exact(grant.endsAt))),
              ("Reason", .text(grant.reason.words)), ("Note", grant.note.map { .text($0) }),
            ]),
            isSame
              ? .p(.text("This changes nothing for the customer now: \(reasonOfNoChange)."), class: "none") : .nothing,
          ]),
        .confirm(
          address, form.hidden, button: change == .give(grant) ? "Grant access" : "Withdraw the grant",
          back: view.link(to: customer)), .p(.text(ActionPreview.noteOfAccess), class: "none"),
      ])
  }
}

extension ConsoleView {
  /// What a customer has, as previews say it.
  func access(_ entitlement: OfferEntitlement?) -> HTML {
    guard let entitlement, entitlement.accessGranted else { return .text("no access") }
    let source = entitlement.grant == nil ? "by a purchase" : "by a grant"
    guard let end = entitlement.expiresAt else { return .text("access for ever, \(source)") }
    return .all([.text("access, \(source), until "), clock(end)])
  }

  func link(toGrantsOf customer: CustomerKey) -> Link { link(customer.page + ["grants"]) }

  func link(toWithdrawalOf grant: GrantId, _ customer: CustomerKey) -> Link {
    link(customer.page + ["grants", grant.text, "withdraw"])
  }
}
