extension Purchase {
  /// Whether this state gives back what an earlier one took, or takes back an end that an earlier one gave.
  ///
  /// Apple's answers come from replicas, and one of them may lag. A lagging one may sign, with a new date, that a
  /// refunded transaction is not refunded. So Apple is asked again after a while, unless a notification says that the
  /// refund was reversed.
  ///
  /// - Parameters:
  ///   - before: the purchase before the newest evidence.
  ///   - reversed: the transactions whose refund Apple says to have reversed.
  public func isDoubtful(after before: Purchase, reversed: Set<TransactionId> = []) -> Bool {
    // A status tells of a revocation before the transaction does. Without it, nothing else may.
    if before.isReportedRevoked, !isReportedRevoked,
      before.deciding.transactionId == deciding.transactionId,
      deciding.revocationDate == nil, !reversed.contains(deciding.transactionId)
    {
      return true
    }
    return transactions.contains { id, facts in
      guard let known = before.transactions[id], !reversed.contains(id) else { return false }
      if known.revocationDate != nil, facts.revocationDate == nil { return true }
      guard let end = facts.expiresDate, let knownEnd = known.expiresDate else { return false }
      return end < knownEnd
    }
  }
}
