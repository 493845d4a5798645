extension CommitState {
  /// Ends the provision of a purchase once Apple has answered: its evidence confirms the purchase, and its denial
  /// withdraws the access. Apple's silence changes nothing.
  ///
  /// - Returns: whether anything changed.
  mutating func settleProvision(of key: PurchaseKey, _ finding: Finalization.Finding) -> Bool {
    guard let until = purchases[key]?.provisionalUntil else { return false }
    switch finding {
    case .evidence: provide(key, until: nil)
    case .concluded(let result) where result.deniesPurchase && until > now: provide(key, until: now)
    case .concluded, .known: return false
    }
    return true
  }
}

extension SynchronizationResult {
  /// Whether Apple's answer says that the purchase is not what it seemed.
  fileprivate var deniesPurchase: Bool {
    [.transactionIdNotFound, .verificationFailed, .appMismatch].contains(self)
  }
}
