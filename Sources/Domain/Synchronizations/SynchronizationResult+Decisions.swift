extension SynchronizationResult {
  /// The result of a registration.
  ///
  /// Why the purchase gives no access comes before why the customer does not own it.
  public static func of(_ access: Access, _ purchase: Purchase, _ decision: OwnershipDecision) -> SynchronizationResult
  {
    switch decision {
    case _ where !access.isGranted: result(access.refusal, nil, purchase)
    case .keep, .take: result(.purchaseSynchronized, access, purchase)
    case .refuse(.ownedByAnother): result(.purchaseOwnedByAnotherCustomer, nil, purchase)
    case .refuse(.notProven): result(.ownershipNotProven, nil, purchase)
    }
  }

  /// The result of a transfer.
  ///
  /// - Parameter access: the access that the purchase gives the customer.
  public static func of(_ access: Access, _ purchase: Purchase, _ decision: TransferDecision) -> SynchronizationResult {
    switch decision {
    case .transferred, .unchanged: result(decision.code, access, purchase)
    case .notActive: result(decision.code, nil, purchase)
    }
  }

  /// - Parameter access: `nil` if the customer gets none.
  private static func result(
    _ code: ResultCode, _ access: Access?, _ purchase: Purchase
  ) -> SynchronizationResult {
    let isGranted = access?.isGranted == true
    return SynchronizationResult(
      code, accessGranted: isGranted, offerId: isGranted ? access?.offerId : nil,
      originalTransactionId: purchase.key.originalTransactionId, environment: purchase.key.environment)
  }
}

extension Access {
  /// The result of a registration that gives no access.
  fileprivate var refusal: ResultCode {
    switch rule {
    case .sandboxNotAllowed: .sandboxNotAllowed
    case .revoked, .reportedRevoked: .purchaseRevoked
    case .offerUnknown: .offerNotFound
    case .familySharingRefused: .familySharingNotAllowed
    default: .receivedExpiredPurchase
    }
  }
}
