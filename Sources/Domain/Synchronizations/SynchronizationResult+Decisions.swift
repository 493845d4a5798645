extension Outcome {
  /// The outcome of a registration.
  ///
  /// Why the purchase gives no access comes before why the customer does not own it.
  public static func of(_ access: Access, _ purchase: Purchase, _ decision: OwnershipDecision) -> Outcome {
    switch decision {
    case _ where !access.isGranted: outcome(access.refusal, nil, purchase)
    case .keep, .take: outcome(.purchaseSynchronized, access, purchase)
    case .refuse(.ownedByAnother): outcome(.purchaseOwnedByAnotherCustomer, nil, purchase)
    case .refuse(.notProven): outcome(.ownershipNotProven, nil, purchase)
    }
  }

  /// The outcome of a transfer.
  ///
  /// - Parameter access: the access that the purchase gives the customer.
  public static func of(_ access: Access, _ purchase: Purchase, _ decision: TransferDecision) -> Outcome {
    switch decision {
    case .transferred, .unchanged: outcome(decision.result, access, purchase)
    case .notActive: outcome(decision.result, nil, purchase)
    }
  }

  /// - Parameter access: `nil` if the customer gets none.
  private static func outcome(
    _ result: SynchronizationResult, _ access: Access?, _ purchase: Purchase
  ) -> Outcome {
    let isGranted = access?.isGranted == true
    return Outcome(
      result, accessGranted: isGranted, offerId: isGranted ? access?.offerId : nil,
      originalTransactionId: purchase.key.originalTransactionId, environment: purchase.key.environment)
  }
}

extension Access {
  /// The result of a registration that gives no access.
  fileprivate var refusal: SynchronizationResult {
    switch rule {
    case .sandboxNotAllowed: .sandboxNotAllowed
    case .revoked, .reportedRevoked: .purchaseRevoked
    case .offerUnknown: .offerNotFound
    case .familySharingRefused: .familySharingNotAllowed
    default: .receivedExpiredPurchase
    }
  }
}
