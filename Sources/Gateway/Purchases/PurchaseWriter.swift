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

  /// A page of a customer's purchases. It ends earlier if they are long.
  ///
  /// - Parameter next: where the next page begins behind all of them; `nil` if there is none.
  func list(
    of customer: CustomerId, _ found: CustomerPurchases, next: String?, most: Int = PageText<Purchase>.most
  ) -> [UInt8] {
    let page = PageText(found.purchases, most: most) { purchase in
      JSONWriter.object { write(purchase, nil, to: &$0) }
    }
    return JSONWriter.object { writer in
      writer.time("asOf", now)
      writer.customer(customer)
      writer.member("customerVersion", found.version)
      writer.member("nextCursor", page.end.map { PurchaseReader.Place($0.key).cursor } ?? next)
      writer.member("purchases", array: page.elements)
    }
  }

  /// A purchase with its transactions and its periods of ownership.
  func one(_ record: PurchaseRecord) -> [UInt8] { JSONWriter.object { write(record.purchase, record, to: &$0) } }

  /// Writes a purchase. What Apple says about a transaction is about the deciding one.
  ///
  /// - Parameter record: what is known besides; `nil` for a purchase in a list.
  private func write(_ purchase: Purchase, _ record: PurchaseRecord?, to writer: inout JSONWriter) {
    PurchaseDocument(purchase, publisher, now: now).write(
      to: &writer,
      ownerships: { writer in
        if let record { writer.member("ownerships", record.ownerships) { Self.write($0, to: &$1) } }
      },
      transactions: { writer in
        guard let record else { return }
        writer.member("transactions", Self.latestFirst(purchase)) { facts, writer in
          Self.write(facts, record.firstGrants[facts.transactionId], to: &writer)
        }
      })
  }

  private static func latestFirst(_ purchase: Purchase) -> [TransactionFacts] {
    purchase.transactions.values.sorted { one, other in
      one.purchaseDate != other.purchaseDate
        ? one.purchaseDate > other.purchaseDate : one.transactionId > other.transactionId
    }
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
    writer.member("revocationPercentage", facts.revocationPercentage.map(Int64.init))
    writer.member("revocationReason", facts.revocationReason.map(Int64.init))
    writer.member("revocationType", facts.revocationType)
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
