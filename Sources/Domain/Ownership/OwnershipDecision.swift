import Formats

/// Why a period of ownership began.
public enum OwnershipCause: String, Sendable, CaseIterable {
  case registration, transfer, restore
  /// Apple signed the customer's `appAccountToken`, and nobody had registered the purchase.
  case appAccountToken
  /// An upgrade took the place of another purchase of the customer's.
  case upgrade
}

/// What a verified registration does to the owner of its purchase.
public enum OwnershipDecision: Sendable, Equatable {
  /// Why a customer does not become the owner.
  public enum Refusal: Sendable, Equatable {
    /// Another customer owns the purchase, and stays its owner.
    case ownedByAnother
    /// Nobody owns the purchase, and the customer has not shown what the publisher asks for.
    case notProven
  }

  /// The customer owns the purchase already.
  case keep
  /// The customer becomes the owner.
  case take(OwnershipCause)
  case refuse(Refusal)

  /// Whether the customer owns the purchase afterwards.
  var isOwner: Bool { if case .refuse = self { false } else { true } }

  /// Decides. A purchase without an owner belongs to the first customer whose registration is verified and proven,
  /// also if it gives no access at that moment.
  ///
  /// - Parameters:
  ///   - customerId: the customer who registers.
  ///   - appAccountToken: the customer's own token, in any case of letters.
  ///   - provesBySignedTransaction: whether the request carried the transaction as Apple signed it.
  ///   - givesAccess: whether the purchase gives its present owner access now.
  public static func decide(
    _ purchase: Purchase, customerId: CustomerId, appAccountToken: AppAccountToken?, provesBySignedTransaction: Bool,
    policy: OwnershipPolicy, givesAccess: Bool
  ) -> OwnershipDecision {
    if let owner = purchase.owner, owner.is(customerId) { return .keep }
    let isProven: Bool
    switch policy.proof {
    case .none: isProven = true
    case .appAccountToken(let derivation):
      isProven = proves(appAccountToken ?? derivation?.token(of: customerId), purchase)
    case .signedTransaction: isProven = provesBySignedTransaction
    }
    guard purchase.owner != nil else { return isProven ? .take(.registration) : .refuse(.notProven) }
    let mayMove =
      switch policy.restore {
      case .refuse: false
      case .transfer: true
      case .transferIfInactive: !givesAccess
      }
    return isProven && mayMove ? .take(.restore) : .refuse(.ownedByAnother)
  }

  /// Whether a customer's token is the one that Apple signed. No token proves nothing. Nor does a family member's
  /// purchase: Apple gives it no token of the member's.
  private static func proves(_ token: AppAccountToken?, _ purchase: Purchase) -> Bool {
    let deciding = purchase.deciding
    guard !deciding.isShared, let token = token?.canonical, let signed = deciding.appAccountToken?.canonical,
      !signed.isNil
    else { return false }
    return signed == token
  }
}
