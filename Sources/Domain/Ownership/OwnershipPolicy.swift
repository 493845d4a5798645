/// Who may become the owner of a purchase.
public struct OwnershipPolicy: Sendable, Equatable {
  /// What a customer must show to become the owner.
  public enum Proof: Sendable, Equatable {
    /// The id of a transaction is enough.
    case none
    /// Apple's `appAccountToken` must be the customer's. A customer without a token of their own has the one that the
    /// derivation gives, if the publisher names a derivation.
    case appAccountToken(derivation: TokenDerivation?)
    /// The request carries the transaction as Apple signed it.
    case signedTransaction
  }

  /// How an app makes the `appAccountToken` of a customer.
  public enum TokenDerivation: Sendable, Equatable {
    /// UUID version 5 of the customer's id in a namespace: the 16 bytes of a UUID.
    case uuidV5(namespace: [UInt8])

    /// Returns the token of a customer.
    public func token(of customerId: CustomerId) -> AppAccountToken {
      switch self {
      case .uuidV5(let namespace): AppAccountToken.derived(from: customerId.text, in: namespace)
      }
    }
  }

  /// What happens when a customer registers a purchase that another customer owns.
  public enum Restore: String, Sendable, CaseIterable {
    /// The owner stays.
    case refuse
    /// The customer becomes the owner.
    case transfer
    /// The customer becomes the owner if the purchase gives no access now.
    case transferIfInactive
  }

  public var proof: Proof
  public var restore: Restore

  /// Creates a policy.
  public init(proof: Proof = .none, restore: Restore = .refuse) {
    self.proof = proof
    self.restore = restore
  }
}
