import Domain

extension PublisherReader {
  private enum Proof: String, CaseIterable { case none, appAccountToken, signedTransaction }

  /// Who may become the owner of a purchase.
  func ownership() -> OwnershipPolicy {
    let proof = reader.choice(
      "ownership.proof", Proof.none,
      "What a customer must show to own a purchase. `none`: the id of a transaction; `appAccountToken`: Apple's "
        + "`appAccountToken` of the purchase is the customer's; `signedTransaction`: the request carries the "
        + "transaction as Apple signed it.")
    let derivation = derivation()
    let restore = reader.choice(
      "ownership.restore", OwnershipPolicy.Restore.refuse,
      "What happens when a customer registers a purchase that another customer owns. `refuse`: the owner stays; "
        + "`transfer`: the customer becomes the owner; `transferIfInactive`: only if the purchase gives no access now.")
    switch proof {
    case .none: return OwnershipPolicy(proof: .none, restore: restore)
    case .appAccountToken:
      return OwnershipPolicy(proof: .appAccountToken(derivation: derivation), restore: restore)
    case .signedTransaction: return OwnershipPolicy(proof: .signedTransaction, restore: restore)
    }
  }

  private func derivation() -> OwnershipPolicy.TokenDerivation? {
    let key = "ownership.tokenNamespace"
    let text = reader.optionalString(
      key,
      "With proof `appAccountToken`: the UUID of the namespace in which the app makes `appAccountToken` from the "
        + "customer's id, as a UUID of version 5. It counts for customers without an `appAccountToken` of their own.")
    guard let text else { return nil }
    guard let namespace = AppAccountToken.bytes(of: text) else {
      reader.note(key, "expected a UUID, such as 6ba7b810-9dad-11d1-80b4-00c04fd430c8")
      return nil
    }
    return .uuidV5(namespace: namespace)
  }

  /// Whether the publisher's purchases are being moved here.
  func isMigrating() -> Bool {
    reader.bool(
      "migrating", false,
      "`true`: the publisher's purchases are being moved here, and transfers are refused with SK2C0005.")
  }
}
