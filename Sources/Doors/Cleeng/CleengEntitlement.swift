import Domain
import Formats
import Ledger

/// A customer's access to one offer, as Cleeng tells it: several purchases give one answer, with the latest end.
struct CleengEntitlement: Equatable {
  let customerId: CustomerId
  let offerId: OfferId
  let accessGranted: Bool
  /// When the access ends, or has ended, in milliseconds since 1970; `nil` if there is no end, or no purchase. In the
  /// grace period it has passed: clients decide by ``accessGranted``.
  let expiresAt: Int64?

  /// Computes the access from the customer's purchases and grants: access is never stored.
  ///
  /// - Parameter now: milliseconds since 1970.
  init(_ customer: CustomerKey, offerId: OfferId, holdings: CustomerPurchases, publisher: Publisher, now: Int64) {
    customerId = customer.id
    self.offerId = offerId
    let rules = publisher.accessRules(for: customer.id, owning: holdings.purchases)
    let entitlement = Entitlements.of(
      purchases: holdings.purchases, grants: holdings.grants, rules: rules, now: now
    ).first { $0.offerId == offerId }
    accessGranted = entitlement?.accessGranted ?? false
    expiresAt = Entitlements.paidUntil(
      offerId, purchases: holdings.purchases, grants: holdings.grants, rules: rules, now: now)
  }

  /// The tags of all offers that the customer may use now, each once, in the order of their bytes.
  static func tags(
    _ customer: CustomerKey, holdings: CustomerPurchases, publisher: Publisher, now: Int64
  ) -> [String] {
    let rules = publisher.accessRules(for: customer.id, owning: holdings.purchases)
    let entitled = Entitlements.of(
      purchases: holdings.purchases, grants: holdings.grants, rules: rules, now: now
    ).filter(\.accessGranted)
    let ids = Set(entitled.map(\.offerId))
    let tags = publisher.offers.all.filter { ids.contains($0.id) }.flatMap { $0.tags.map(ExactText.init(_:)) }
    return Set(tags).sorted().map(\.text)
  }
}
