import Domain
import Formats
import JSON
import Ledger

/// Writes purchases as JSON, with the access that they give their owners at a time. The members stand in the order of
/// their names.
struct PurchaseWriter {
  private let publisher: Publisher
  /// Milliseconds since 1970.
  private let now: Int64

  init(_ publisher: Publisher, now: Int64) {
    self.publisher = publisher
    self.now = now
  }

  /// A page of a customer's purchases.
  func list(of customer: String, _ found: CustomerPurchases, next: String?) -> [UInt8] {
    JSONWriter.object { writer in
      writer.time("asOf", now)
      writer.customer(customer)
      writer.member("customerVersion", found.version)
      writer.member("nextCursor", next)
      writer.member("purchases", found.purchases) { write($0, nil, to: &$1) }
    }
  }

  /// A purchase with its transactions and its periods of ownership.
  func one(_ record: PurchaseRecord) -> [UInt8] { JSONWriter.object { write(record.purchase, record, to: &$0) } }

  /// Writes a purchase. What Apple says about a transaction is about the deciding one.
  ///
  /// - Parameter record: what is known besides; `nil` for a purchase in a list.
  private func write(_ purchase: Purchase, _ record: PurchaseRecord?, to writer: inout JSONWriter) {
    let (deciding, renewal, owner) = (purchase.deciding, purchase.renewal, purchase.owner)
    if let owner {
      let access = Access.of(purchase, rules: publisher.accessRules(for: owner.customerId), now: now)
      writer.member("access") { Self.write(access, to: &$0) }
    }
    writer.member("appAccountToken", deciding.appAccountToken)
    writer.member("bundleId", deciding.bundleId)
    writer.member("cleengCustomerId", owner.flatMap { CustomerId.number($0.customerId) })
    writer.member("currency", deciding.currency)
    writer.member("customerId", owner?.customerId)
    writer.member("environment", purchase.key.environment)
    writer.member("expirationIntent", renewal?.expirationIntent.map(Int64.init))
    writer.time("expiresDate", deciding.expiresDate)
    writer.time("gracePeriodExpiresDate", renewal?.graceExpiresDate)
    writer.member("isInBillingRetry", renewal?.isInBillingRetry)
    writer.member("isUpgraded", deciding.isUpgraded)
    writer.member("nextProductId", renewal?.nextProductId)
    writer.member("offerId", publisher.offers.offer(forProduct: deciding.productId)?.id)
    writer.member("originalTransactionId", purchase.key.originalTransactionId)
    writer.member("ownershipType", deciding.ownershipType)
    if let record { writer.member("ownerships", record.ownerships) { Self.write($0, to: &$1) } }
    writer.member("price", deciding.price)
    writer.member("productId", deciding.productId)
    writer.time("purchaseDate", deciding.purchaseDate)
    writer.member("quantity", deciding.quantity.map(Int64.init))
    writer.time("revocationDate", deciding.revocationDate)
    writer.time("signedDate", deciding.signedDate)
    writer.member("subscriptionId", owner?.subscriptionId)
    writer.member("transactionId", deciding.transactionId)
    if let record {
      writer.member("transactions", Self.latestFirst(purchase)) { facts, writer in
        Self.write(facts, record.firstGrants[facts.transactionId.exact], to: &writer)
      }
    }
    writer.member("type", deciding.kind.rawValue)
    writer.member("version", purchase.version)
    writer.member("willRenew", renewal?.willRenew)
  }

  private static func latestFirst(_ purchase: Purchase) -> [TransactionFacts] {
    purchase.transactions.values.sorted { one, other in
      one.purchaseDate != other.purchaseDate
        ? one.purchaseDate > other.purchaseDate : one.transactionId.exact > other.transactionId.exact
    }
  }

  private static func write(_ access: Access, to writer: inout JSONWriter) {
    writer.member("accessGranted", access.isGranted)
    writer.member("billingProblem", access.billingProblem)
    writer.time("expiresAt", access.expiresAt)
    writer.member("offerId", access.offerId)
    writer.member("rule", access.rule.rawValue)
    writer.member("willRenew", access.willRenew)
  }

  private static func write(_ facts: TransactionFacts, _ firstGrantedAt: Int64?, to writer: inout JSONWriter) {
    writer.member("appAccountToken", facts.appAccountToken)
    writer.member("bundleId", facts.bundleId)
    writer.member("currency", facts.currency)
    writer.time("expiresDate", facts.expiresDate)
    writer.time("firstGrantedAt", firstGrantedAt)
    writer.member("isUpgraded", facts.isUpgraded)
    writer.member("ownershipType", facts.ownershipType)
    writer.member("price", facts.price)
    writer.member("productId", facts.productId)
    writer.time("purchaseDate", facts.purchaseDate)
    writer.member("quantity", facts.quantity.map(Int64.init))
    writer.time("revocationDate", facts.revocationDate)
    writer.member("revocationReason", facts.revocationReason.map(Int64.init))
    writer.time("signedDate", facts.signedDate)
    writer.member("transactionId", facts.transactionId)
    writer.member("type", facts.kind.rawValue)
  }

  private static func write(_ period: OwnershipPeriod, to writer: inout JSONWriter) {
    writer.time("beganAt", period.beganAt)
    writer.member("cause", period.cause)
    if let customer = period.customerId { writer.customer(customer) }
    writer.time("endedAt", period.endedAt)
    writer.member("subscriptionId", period.subscriptionId)
  }
}
