import Formats

/// What a finalized synchronization says once time has passed. Its result stays as it was told. Its access is that of
/// the present: the purchase may have ended, or belong to somebody else.
extension Synchronization {
  /// The purchase on whose present state the answer rests; `nil` if the result gives no access.
  public var givingPurchase: PurchaseKey? {
    guard let result = result, result.accessGranted, let environment = result.environment,
      let original = result.originalTransactionId
    else { return nil }
    return PurchaseKey(publisherId: publisherId, environment: environment, originalTransactionId: original)
  }

  /// The synchronization with the access that its customer has now. What gave no access at its end gives none.
  ///
  /// - Parameters:
  ///   - purchase: ``givingPurchase``, as the ledger has it now; `nil` if it has none.
  ///   - now: milliseconds since 1970.
  public func atPresent(_ purchase: Purchase?, _ publisher: Publisher, now: Int64) -> Synchronization {
    guard result?.accessGranted == true else { return self }
    var present = self
    let access = purchase.flatMap { purchase in
      purchase.owner.flatMap { owner in
        owner.is(customerId) ? Access.of(purchase, rules: publisher.accessRules(for: owner), now: now) : nil
      }
    }
    let isGranted = access?.isGranted == true
    present.result?.accessGranted = isGranted
    present.result?.offerId = isGranted ? access?.offerId : nil
    // Nobody hands out goods that were taken back.
    if !isGranted { present.result?.consumable?.isFirstGrant = false }
    return present
  }

  /// Whether its customer still has what the result gave: the purchase was neither released nor transferred since, and
  /// the customer was not erased. A repeated registration under the same id would otherwise be answered with a result
  /// that no longer holds.
  ///
  /// The end of a period takes nothing back. The customer stays the owner, and the purchase may renew.
  public func holds(_ purchase: Purchase?) -> Bool {
    if customerId.isErased || result?.code == .customerErased { return false }
    guard givingPurchase != nil else { return true }
    return purchase.map(isOwned) ?? false
  }

  private func isOwned(_ purchase: Purchase) -> Bool { purchase.owner?.is(customerId) == true }
}
