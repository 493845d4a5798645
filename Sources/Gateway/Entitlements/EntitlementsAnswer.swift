import Domain
import JSON
import Ledger

/// A customer's entitlements at a time, as JSON. The members stand in the order of their names.
struct EntitlementsAnswer {
  let customerId: CustomerId
  let customerVersion: Int64
  /// Milliseconds since 1970.
  let asOf: Int64
  let entitlements: [OfferEntitlement]

  /// Computes the entitlements: access is never stored.
  init(_ customer: CustomerKey, _ found: CustomerPurchases, _ publisher: Publisher, now: Int64) {
    customerId = customer.id
    customerVersion = found.version
    asOf = now
    entitlements = Entitlements.of(
      purchases: found.purchases, grants: found.grants,
      rules: publisher.accessRules(for: customer.id, owning: found.purchases), now: now)
  }

  /// All entitlements.
  var list: [UInt8] {
    JSONWriter.object { writer in
      writer.time("asOf", asOf)
      writer.customer(customerId)
      writer.member("customerVersion", customerVersion)
      writer.member("entitlements", entitlements) { entitlement, writer in
        writer.member("accessGranted", entitlement.accessGranted)
        writer.member("billingProblem", entitlement.billingProblem)
        Self.write(entitlement, to: &writer)
      }
    }
  }

  /// The entitlement to one offer of the publisher. Without a purchase or a grant for it, there is no access.
  func one(_ offerId: OfferId) -> [UInt8] {
    let entitlement = entitlements.first { $0.offerId == offerId }
    return JSONWriter.object { writer in
      writer.member("accessGranted", entitlement?.accessGranted ?? false)
      writer.time("asOf", asOf)
      writer.member("billingProblem", entitlement?.billingProblem ?? false)
      writer.customer(customerId)
      writer.member("customerVersion", customerVersion)
      if let entitlement { return Self.write(entitlement, to: &writer) }
      writer.member("offerId", offerId)
      writer.member("rule", AccessRule.noPurchase.rawValue)
    }
  }

  /// Writes the members behind the customer's.
  private static func write(_ entitlement: OfferEntitlement, to writer: inout JSONWriter) {
    writer.member("environment", entitlement.environment)
    writer.time("expiresAt", entitlement.expiresAt)
    if let grant = entitlement.grant {
      writer.member("grant") { $0.member("grantId", grant) }
    }
    writer.member("offerId", entitlement.offerId)
    if let purchase = entitlement.purchase {
      writer.member("purchase") { writer in
        writer.member("environment", purchase.environment)
        writer.member("originalTransactionId", purchase.originalTransactionId)
        writer.member("version", entitlement.version)
      }
    }
    writer.member("rule", entitlement.rule.rawValue)
    writer.member("willRenew", entitlement.willRenew)
  }
}
