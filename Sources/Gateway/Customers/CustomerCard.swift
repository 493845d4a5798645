import AppStore
import Domain
import Formats
import JSON
import Ledger

/// What a helpdesk shows beside a ticket: what a customer may use now and why, what Apple charges next, and what to
/// tell the customer.
struct CustomerCard {
  let customer: CustomerKey
  let found: CustomerPurchases
  let rules: AccessRules
  /// What Apple charges next for purchases that renew.
  let charges: [PurchaseKey: NextCharge]
  /// The address of the customer's page at the console; `nil` if it is not known.
  let page: String?
  /// Milliseconds since 1970.
  let now: Int64

  /// Computes the card: access is never stored.
  ///
  /// - Parameter renewals: the payload of the newest renewal info of each purchase that renews.
  init(
    _ customer: CustomerKey, _ found: CustomerPurchases, _ publisher: Publisher, renewals: [PurchaseKey: [UInt8]],
    page: String?, now: Int64
  ) {
    (self.customer, self.found, self.page, self.now) = (customer, found, page, now)
    rules = publisher.accessRules(for: customer.id, owning: found.purchases)
    charges = NextCharge.all(of: found.purchases, renewals, now: now)
  }

  /// The purchases whose newest renewal info the card needs.
  static func renewing(_ found: CustomerPurchases) -> [PurchaseKey] {
    NextCharge.renewing(found.purchases)
  }

  /// The card as JSON. The members stand in the order of their names.
  var json: [UInt8] {
    let entitlements = Entitlements.of(purchases: found.purchases, grants: found.grants, rules: rules, now: now)
    let twice = Entitlements.paidTwice(purchases: found.purchases, rules: rules, now: now)
    return JSONWriter.object { writer in
      writer.time("asOf", now)
      writer.customer(customer.id)
      writer.member("customerVersion", found.version)
      writer.member("entitlements", entitlements) { write($0, to: &$1) }
      writer.member("page", page)
      writer.member("paysTwice", array: twice.map { JSONWriter.text($0.text) })
    }
  }

  private func write(_ entitlement: OfferEntitlement, to writer: inout JSONWriter) {
    writer.member("accessGranted", entitlement.accessGranted)
    writer.member("billingProblem", entitlement.billingProblem)
    writer.member("environment", entitlement.environment)
    writer.time("expiresAt", entitlement.expiresAt)
    let charge = entitlement.purchase.flatMap { charges[$0] }
    if let charge {
      writer.member("nextCharge") { writer in
        writer.time("at", charge.at)
        writer.member("currency", charge.currency)
        writer.member("price", charge.price)
      }
    }
    writer.member("offerId", entitlement.offerId)
    writer.member("offerName", rules.offers.name(of: entitlement.offerId))
    writer.member("reply", entitlement.rule.advice)
    writer.member("rule", entitlement.rule.rawValue)
    writer.member("summary", Self.summary(entitlement, chargedAt: charge?.at))
    writer.member("why", entitlement.rule.words)
    writer.member("willRenew", entitlement.willRenew)
  }

  /// One line for people, with days in UTC.
  ///
  /// - Parameter chargedAt: when Apple charges next. Access may end before, as in the sandbox when a person gave it.
  static func summary(_ entitlement: OfferEntitlement, chargedAt: Int64?) -> String {
    func day(_ time: Int64) -> Substring { rfc3339(milliseconds: time).prefix(10) }
    guard let end = entitlement.expiresAt else {
      return entitlement.accessGranted ? "Has access, without an end." : "No access."
    }
    guard entitlement.accessGranted else { return "No access since \(day(end))." }
    if let chargedAt, chargedAt <= end, entitlement.willRenew == true, !entitlement.billingProblem {
      return "Has access, and renews on \(day(chargedAt))."
    }
    return "Has access until \(day(end))."
  }
}
