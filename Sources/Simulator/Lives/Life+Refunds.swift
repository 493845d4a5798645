/// Refunds, and what belongs to them.
extension Life {
  /// Carries out an action about money that goes back.
  mutating func takeBack(
    _ action: LifeAction, at now: Int64, _ numbers: inout LifeNumbers
  ) throws(ControlRefusal) -> LifeNotice {
    switch action {
    case .refund(let id, let percentage, let reason):
      let index = try index(of: id, at: now)
      guard transactions[index].revocation == nil else { throw .conflict("the transaction is revoked already") }
      revoke(
        index,
        LifeTransaction.Revocation(
          date: now, reason: reason, type: percentage < 100_000 ? .prorated : .full, percentage: percentage), &numbers)
      return changed(LifeNotice("REFUND", nil, transactions[index].id))
    case .revoke:
      guard terms.isFamilyShared else { throw .conflict("only a shared purchase is revoked; this one can be refunded") }
      let index = transactions.count - 1
      guard transactions[index].revocation == nil else { throw .conflict("the transaction is revoked already") }
      revoke(
        index, LifeTransaction.Revocation(date: now, reason: 0, type: .family, percentage: 100_000), &numbers)
      return changed(LifeNotice("REVOKE", nil, latest.id))
    case .reverse(let id):
      let index = try id == nil ? transactions.lastIndex { $0.revocation != nil } : index(of: id, at: now)
      guard let index, transactions[index].revocation != nil else { throw .conflict("the transaction is not revoked") }
      transactions[index].revocation = nil
      // What another life has taken the place of does not come back.
      if state == .upgraded { transactions[index].isUpgraded = true }
      transactions[index].revision = numbers.revision()
      if index == transactions.count - 1, state == .revoked { restore(at: now) }
      return changed(LifeNotice("REFUND_REVERSED", nil, transactions[index].id))
    case .declineRefund(let id):
      let last = refundRequests.last?.transactionId
      let index = try index(of: id ?? last, at: now)
      return changed(LifeNotice("REFUND_DECLINED", nil, transactions[index].id))
    case .requestRefund(let id, let reason):
      let index = try index(of: id, at: now)
      let transaction = transactions[index].id
      refundRequests.append(LifeRefundRequest(transactionId: transaction, reason: reason, requestedAt: now))
      return changed(LifeNotice("CONSUMPTION_REQUEST", nil, transaction, requestReason: reason))
    default: throw .conflict("this is about no money")
    }
  }

  /// Notes what the developer's server tells about a transaction; it answers the newest request about it.
  mutating func consume(_ transactionId: String, _ answer: LifeRefundRequest.Answer) {
    guard let index = refundRequests.lastIndex(where: { $0.transactionId == transactionId }) else { return }
    var answer = answer
    answer.isInTime = answer.time - refundRequests[index].requestedAt <= LifeRefundRequest.limit
    refundRequests[index].answers.append(answer)
  }

  /// The place of a transaction; without an id, that of the present one. A period that has not begun is not present.
  private func index(of id: String?, at now: Int64) throws(ControlRefusal) -> Int {
    guard let id else { return transactions.lastIndex { $0.purchaseDate <= now } ?? 0 }
    guard let index = transactions.firstIndex(where: { $0.id == id }) else {
      throw .conflict("the life has no transaction \(id)")
    }
    guard transactions[index].purchaseDate <= now else { throw .conflict("the period has not begun") }
    return index
  }

  private mutating func revoke(
    _ index: Int, _ revocation: LifeTransaction.Revocation, _ numbers: inout LifeNumbers
  ) {
    transactions[index].revocation = revocation
    transactions[index].revision = numbers.revision()
    // The refund of an earlier period does not end the present one.
    guard index == transactions.count - 1, state != .upgraded else { return }
    settle()
    state = .revoked
    willRenew = false
  }

  /// The state after a refund was taken back.
  private mutating func restore(at now: Int64) {
    guard isSubscription, (latest.expiresDate ?? now) <= now else {
      state = .active
      return
    }
    state = .expired
    expirationIntent = LifeExpiry.voluntary.intent
  }
}
