import Domain
import Ledger

/// What a change of a customer's sandbox access would do, and a button that does it.
struct SandboxPreview {
  /// What the person wants to do.
  enum Change: Equatable {
    case set(SandboxOverride)
    case withdraw(SandboxOverride)

    var override: SandboxOverride {
      switch self {
      case .set(let override), .withdraw(let override): override
      }
    }
  }

  let view: ConsoleView
  let change: Change
  /// What the form sends again.
  let form: SandboxForm
  /// As they are now.
  let rules: AccessRules
  let holdings: CustomerPurchases
  /// Why it was not done, if the person has tried.
  var refusal: String?

  private var customer: CustomerKey { change.override.customer }

  private func entitlements(_ until: Int64?) -> [OfferEntitlement] {
    Entitlements.of(
      purchases: holdings.purchases, grants: holdings.grants,
      rules: AccessRules(offers: rules.offers, allowsSandbox: rules.allowsSandbox, sandboxUntil: until), now: view.now
    ).filter(\.accessGranted)
  }

  var before: [OfferEntitlement] { entitlements(rules.sandboxUntil) }

  var after: [OfferEntitlement] {
    switch change {
    case .set(let override): entitlements(override.endsAt)
    case .withdraw: entitlements(nil)
    }
  }

  private func access(_ entitlements: [OfferEntitlement]) -> HTML {
    guard !entitlements.isEmpty else { return .text("no access") }
    return .all(
      entitlements.map { entitlement in
        .p(.all([.text("\(rules.offers.name(of: entitlement.offerId)): "), view.access(entitlement)]))
      })
  }

  private var words: String {
    if rules.allowsSandbox {
      return "The publisher's file lets sandbox purchases give this customer access anyway. This changes nothing now."
    }
    switch change {
    case .set:
      return "Purchases from Apple's sandbox cost nothing. Until the end, each one that the customer owns or registers "
        + "gives access."
    case .withdraw: return "Access that rests on a purchase from Apple's sandbox ends at once."
    }
  }

  var html: Document {
    let (override, isSet) = (change.override, change == .set(change.override))
    return ActionPreview(
      view: view, title: isSet ? "Give sandbox access?" : "Withdraw the sandbox access?",
      above: "Customer \(customer.id) of publisher \(customer.publisherId)",
      facts: [
        ("Now", access(before)), ("Then", access(after)),
        ("Sandbox access ends", .text(ConsoleTime.exact(override.endsAt))), ("Reason", .text(override.reason.words)),
        ("Note", override.note.map { .text($0) }),
      ], words: words,
      action: isSet ? view.link(toSandboxOf: customer) : view.link(toSandboxWithdrawalOf: customer),
      fields: isSet ? form.hidden : [], button: isSet ? "Give sandbox access" : "Withdraw sandbox access",
      back: view.link(to: customer), note: ActionPreview.noteOfAccess, refusal: refusal
    ).html
  }
}
