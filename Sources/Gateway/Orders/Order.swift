import Domain
import JSON

/// An order of Apple's with what is known here about its transactions.
struct Order {
  let id: OrderId
  let app: BundleId
  /// As Apple names them.
  let transactions: [TransactionFacts]
  /// Those of the transactions that are known here.
  let purchases: [PurchaseKey: Purchase]

  /// The order as JSON. The members stand in the order of their names.
  ///
  /// - Parameter now: milliseconds since 1970.
  func json(_ publisher: Publisher, now: Int64) -> [UInt8] {
    JSONWriter.object { writer in
      writer.time("asOf", now)
      writer.member("bundleId", app)
      writer.member("orderId", id)
      writer.member("transactions", transactions) { facts, writer in
        let purchase = purchases[facts.purchase(of: publisher.id)]
        writer.member("environment", facts.environment)
        writer.time("expiresDate", facts.expiresDate)
        writer.member("isKnown", purchase != nil)
        writer.member("originalTransactionId", facts.originalTransactionId)
        writer.member("productId", facts.productId)
        if let purchase {
          writer.member("purchase") { PurchaseDocument(purchase, publisher, now: now).write(to: &$0) }
        }
        writer.time("purchaseDate", facts.purchaseDate)
        writer.time("revocationDate", facts.revocationDate)
        writer.member("revocationType", facts.revocationType)
        writer.member("transactionId", facts.transactionId)
        writer.member("type", facts.kind.rawValue)
      }
    }
  }
}
