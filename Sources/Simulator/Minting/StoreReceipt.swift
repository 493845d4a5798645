import Formats

/// The app receipt that an app with some purchases holds, before it is signed.
struct StoreReceipt {
  /// The transaction that decides about app and environment. It need not be in the receipt.
  let origin: TransactionPayload
  let purchases: [StorePurchase]
  /// Whether only the last transaction of each purchase is listed.
  var isLatestOnly = false
  /// UNIX milliseconds.
  let created: Int64

  /// The signed content: a set of attributes as in Apple's "Receipt Fields".
  var content: [UInt8] {
    let start = purchases.map(\.asked.originalPurchaseDate).min() ?? created
    var attributes = Self.attribute(
      0, DER.text(origin.environment == StoreEnvironment.production.name ? "Production" : "ProductionSandbox"))
    attributes += Self.attribute(2, DER.text(origin.bundleId.text))
    attributes += Self.attribute(3, DER.text("1"))
    attributes += Self.attribute(12, Self.date(created))
    // A purchase with two transactions has both in the receipt, under one original id.
    for transaction in purchases.flatMap(listed) { attributes += Self.attribute(17, Self.inApp(transaction)) }
    attributes += Self.attribute(18, Self.date(start))
    attributes += Self.attribute(19, DER.text("1.0"))
    return DER.set(attributes)
  }

  private func listed(_ purchase: StorePurchase) -> [TransactionPayload] {
    guard isLatestOnly else { return purchase.history }
    return purchase.history.max { $0.purchaseDate < $1.purchaseDate }.map { [$0] } ?? []
  }

  private static func inApp(_ transaction: TransactionPayload) -> [UInt8] {
    var attributes = attribute(1701, DER.integer(Int64(transaction.quantity)))
    attributes += attribute(1702, DER.text(transaction.productId))
    attributes += attribute(1703, DER.text(transaction.transactionId))
    attributes += attribute(1704, date(transaction.purchaseDate))
    attributes += attribute(1705, DER.text(transaction.originalTransactionId))
    attributes += attribute(1706, date(transaction.originalPurchaseDate))
    if let end = transaction.expiresDate { attributes += attribute(1708, date(end)) }
    // Apple's receipts have the number as an integer. A transaction id of more digits leaves none.
    if let item = transaction.webOrderLineItemId.flatMap({ Int64($0) }) {
      attributes += attribute(1711, DER.integer(item))
    }
    if let revoked = transaction.revocationDate { attributes += attribute(1712, date(revoked)) }
    if transaction.expiresDate != nil {
      let (isIntroductory, isTrial) = (transaction.offerType == 1, transaction.offerDiscountType == "FREE_TRIAL")
      attributes += attribute(1713, DER.integer(isTrial ? 1 : 0))
      attributes += attribute(1719, DER.integer(isIntroductory && !isTrial ? 1 : 0))
    }
    return DER.set(attributes)
  }

  private static func attribute(_ type: Int64, _ value: [UInt8]) -> [UInt8] {
    DER.sequence(DER.integer(type) + DER.integer(1) + DER.octets(value))
  }

  /// A date as Apple writes it, without a fraction.
  private static func date(_ milliseconds: Int64) -> [UInt8] {
    DER.ascii("\(rfc3339(milliseconds: milliseconds).prefix(19))Z")
  }
}
