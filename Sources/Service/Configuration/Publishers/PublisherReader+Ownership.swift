import Domain

extension PublisherReader {
  private enum Proof: String, CaseIterable {
    case none, appAccountToken, signedTransaction

    init(_ proof: OwnershipPolicy.Proof) {
      switch proof {
      case .none: self = .none
      case .appAccountToken: self = .appAccountToken
      case .signedTransaction: self = .signedTransaction
      }
    }
  }

  /// Who may become the owner of a purchase.
  func ownership() -> OwnershipPolicy {
    let proof = reader.choice(
      "ownership.proof", Proof.none,
      "What a customer must show to own a purchase. `none`: the id of a transaction; `appAccountToken`: Apple's "
        + "`appAccountToken` of the purchase is the customer's; `signedTransaction`: the request carries the "
        + "transaction as Apple signed it.")
    let derivation = derivation(
      "ownership.tokenNamespace",
      "With proof `appAccountToken`: the UUID of the namespace in which the app makes `appAccountToken` from the "
        + "customer's id, as a UUID of version 5. It counts for customers without an `appAccountToken` of their own.")
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

  /// Who may become the owner of a purchase through a door.
  ///
  /// - Parameters:
  ///   - own: the publisher's policy. If the door's keys are silent, its proof counts here too.
  ///   - restore: what the door does when another customer owns the purchase.
  func ownership(
    of door: String, like own: OwnershipPolicy, restore: OwnershipPolicy.Restore
  ) -> OwnershipPolicy {
    let proof = reader.choice(
      "\(door).ownership.proof", Proof(own.proof),
      "As `ownership.proof`, for this door. A receipt counts as the transaction that Apple signed.",
      shown: "`ownership.proof`")
    let namespace = derivation(
      "\(door).ownership.tokenNamespace", "As `ownership.tokenNamespace`, for this door.",
      shown: "`ownership.tokenNamespace`")
    let restoreKey = "\(door).ownership.restore"
    let restore = reader.choice(restoreKey, restore, "As `ownership.restore`, for this door: `refuse` or `transfer`.")
    if restore == .transferIfInactive {
      reader.note(
        restoreKey,
        "is transferIfInactive, which would move nothing at a door: a door moves only purchases that give access; "
          + "expected transfer, or refuse")
    }
    switch proof {
    case .none: return OwnershipPolicy(proof: .none, restore: restore)
    case .appAccountToken:
      var derivation = namespace
      if derivation == nil, case .appAccountToken(let given) = own.proof { derivation = given }
      return OwnershipPolicy(proof: .appAccountToken(derivation: derivation), restore: restore)
    case .signedTransaction: return OwnershipPolicy(proof: .signedTransaction, restore: restore)
    }
  }

  private func derivation(
    _ key: String, _ meaning: String, shown: String = "none"
  ) -> OwnershipPolicy.TokenDerivation? {
    guard let text = reader.optionalString(key, meaning, shown: shown) else { return nil }
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
      "`true`: the publisher's purchases are being moved here, so transfers are refused with `SK2C0005`.")
  }

  /// Whom the publisher's events are told.
  func mode() -> Publisher.Mode {
    reader.choice(
      "mode", Publisher.Mode.live,
      "`live`: subscribers and webhook endpoints get the publisher's events; `shadow`: nobody gets them, and Apple gets "
        + "no answers from facts.")
  }
}
