extension TransactionFacts {
  /// The purchase that has the transaction.
  public func purchase(of publisherId: PublisherId) -> PurchaseKey {
    PurchaseKey(publisherId: publisherId, environment: environment, originalTransactionId: originalTransactionId)
  }
}

extension Sequence<TransactionFacts> {
  /// The purchases that have the transactions, each once, in the order of the transactions.
  public func purchases(of publisherId: PublisherId) -> [PurchaseKey] {
    var seen: Set<PurchaseKey> = []
    return map { $0.purchase(of: publisherId) }.filter { seen.insert($0).inserted }
  }
}
