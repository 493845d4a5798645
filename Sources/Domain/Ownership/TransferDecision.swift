/// What a transfer does to the owner of its purchase.
public enum TransferDecision: Sendable, Equatable {
  /// The customer becomes the owner.
  case transferred
  /// The customer owns the purchase already.
  case unchanged
  /// The purchase gives no access now, so it cannot be transferred.
  case notActive

  /// Decides.
  ///
  /// - Parameters:
  ///   - customerId: the customer who shall become the owner.
  ///   - givesAccess: whether the purchase would give that customer access now.
  public static func decide(_ purchase: Purchase, to customerId: CustomerId, givesAccess: Bool) -> TransferDecision {
    // A transfer that runs a second time finds its own effect, even if the purchase has ended in between.
    if let owner = purchase.owner, owner.is(customerId) { return .unchanged }
    return givesAccess ? .transferred : .notActive
  }

  /// The result of the transfer.
  public var code: ResultCode {
    switch self {
    case .transferred: .purchaseOwnershipTransferred
    case .unchanged: .purchaseOwnershipUnchanged
    case .notActive: .purchaseNotActive
    }
  }
}
