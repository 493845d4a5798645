import Domain

/// Whether a purchase is canceled, in the words of Mbaasy's contract.
struct MbaasyCancellation: Sendable, Equatable {
  /// Who canceled. The raw value is the contract's.
  enum Canceler: String, Sendable, CaseIterable { case user, publisher, marketplace, unknown }

  let by: Canceler
  /// Milliseconds since 1970; `nil` if Apple does not tell the date.
  let at: Int64?

  /// Returns the cancellation of a purchase; `nil` for one that is neither taken back, nor over, nor about to end.
  ///
  /// docs/compatibility/mbaasy.md has the same table.
  static func of(_ purchase: Purchase) -> MbaasyCancellation? {
    let deciding = purchase.deciding
    if let date = deciding.revocationDate {
      // Apple gives a reason if the customer asked for the money back. A family's purchase ends without one, when the
      // family no longer shares it.
      let isByUser = deciding.revocationReason != nil || deciding.isShared
      return MbaasyCancellation(by: isByUser ? .user : .unknown, at: date)
    }
    // Apple's status has no date of its own.
    if purchase.isReportedRevoked { return MbaasyCancellation(by: .unknown, at: nil) }
    guard deciding.kind == .autoRenewable, let renewal = purchase.presentRenewal else { return nil }
    // While Apple tries to charge, nothing is canceled yet.
    guard renewal.isInBillingRetry != true else { return nil }
    if let intent = renewal.expirationIntent {
      return MbaasyCancellation(by: canceler(ofIntent: intent), at: deciding.expiresDate)
    }
    // Apple signs that the renewal is off, and not since when.
    return renewal.willRenew == false ? MbaasyCancellation(by: .user, at: nil) : nil
  }

  /// Who caused Apple's reason why a subscription expired.
  private static func canceler(ofIntent intent: Int32) -> Canceler {
    switch intent {
    case 1: .user  // turned the renewal off
    case 2: .marketplace  // could not charge
    case 3: .user  // did not agree to a higher price
    case 4: .publisher  // no longer sells the product
    default: .unknown
    }
  }
}
