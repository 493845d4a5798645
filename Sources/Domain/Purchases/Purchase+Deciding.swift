import Formats

extension Purchase {
  /// The transaction that decides about access.
  ///
  /// A subscription has one transaction for each period, and at most one of them is in force. The *latest* period
  /// decides: the greatest purchase date, then the greatest end, then the greatest id. These do not count:
  ///
  /// - A transaction that the customer upgraded away from. Another one took its place.
  /// - A transaction that Apple took back while an earlier period ran on. Apple says so in one of two ways: it took
  ///   the transaction back before the new period began, or it signed the earlier one afterwards, neither upgraded nor
  ///   revoked.
  ///
  /// Apple may renew up to 24 hours before a period begins. Such a renewal counts from the date of its signature, so an
  /// upgrade within these hours takes its place.
  ///
  /// So the refund of an earlier period does not end the present one, and the refund of the present period revokes the
  /// purchase, although the periods before it were paid. A transaction that an upgrade replaced before its end does not
  /// come back, even if Apple has not been asked about it since. If no transaction counts, the latest one decides all
  /// the same.
  ///
  /// A one-time purchase is one transaction. Old versions of StoreKit gave each restored copy of it a new id. Among
  /// copies the one that Apple signed last decides, so a copy from before a refund does not give access back.
  static func deciding(among transactions: some Collection<TransactionFacts>) -> TransactionFacts? {
    guard transactions.count > 1 else { return transactions.first }
    guard transactions.contains(where: { $0.kind == .autoRenewable }) else {
      return transactions.max { isSignedEarlier($0, $1) }
    }
    let running = transactions.filter { !$0.isUpgraded && $0.revocationDate == nil }
    let counting = transactions.filter { candidate in
      !candidate.isUpgraded && !running.contains { isUndone(candidate, beside: $0) }
    }
    return (counting.isEmpty ? Array(transactions) : counting).max { isEarlierPeriod($0, $1) }
  }

  /// Whether Apple took a transaction back while another one ran on.
  private static func isUndone(_ transaction: TransactionFacts, beside other: TransactionFacts) -> Bool {
    guard let revoked = transaction.revocationDate, let end = other.expiresDate, end > revoked else { return false }
    return revoked < transaction.purchaseDate || other.signedDate >= revoked
  }

  private static func isEarlierPeriod(_ one: TransactionFacts, _ other: TransactionFacts) -> Bool {
    let (start, otherStart) = (one.startOfPeriod, other.startOfPeriod)
    if start != otherStart { return start < otherStart }
    let (end, otherEnd) = (one.expiresDate ?? .min, other.expiresDate ?? .min)
    if end != otherEnd { return end < otherEnd }
    return one.transactionId < other.transactionId
  }

  private static func isSignedEarlier(_ one: TransactionFacts, _ other: TransactionFacts) -> Bool {
    if other.isNewer(than: one) { return true }
    if one.isNewer(than: other) { return false }
    return one.transactionId < other.transactionId
  }
}

extension TransactionFacts {
  /// The place of the period among the others. A period that Apple made ahead has its place at its signature. A
  /// restored copy may have the date of its restoration, which may lie behind the end of its period.
  fileprivate var startOfPeriod: Int64 { min(purchaseDate, signedDate, expiresDate ?? purchaseDate) }
}
