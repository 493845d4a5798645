extension TransactionFacts {
  /// Whether both are names of one payment. Old versions of StoreKit give each restored copy of a transaction a new id.
  ///
  /// A period of a subscription has one purchase date, one end, and one order line. Rows from before the ledger kept
  /// the order line have none, and then the dates decide alone. A product that does not renew is bought once under an
  /// original id, whatever date a copy has.
  package func isCopy(of other: TransactionFacts) -> Bool {
    guard kind == other.kind, productId == other.productId,
      originalTransactionId == other.originalTransactionId
    else { return false }
    guard kind == .autoRenewable else { return true }
    guard purchaseDate == other.purchaseDate, expiresDate == other.expiresDate else { return false }
    guard let line = webOrderLineItemId, let otherLine = other.webOrderLineItemId else { return true }
    return line == otherLine
  }

  /// Whether its period is a later one: it begins later, or ends later.
  package func isLaterPeriod(than other: TransactionFacts) -> Bool {
    purchaseDate > other.purchaseDate || expiresDate ?? .min > other.expiresDate ?? .min
  }
}

extension Purchase {
  /// Whether a transaction has another id than one of these, and names the same payment.
  func hasCopy(of facts: TransactionFacts) -> Bool {
    transactions.contains { id, known in id != facts.transactionId && facts.isCopy(of: known) }
  }
}
