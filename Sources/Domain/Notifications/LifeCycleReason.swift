/// Why a purchase changed, as its events tell it. An open set for its readers.
public enum LifeCycleReason: String, Sendable, CaseIterable {
  /// The customer subscribed for the first time.
  case started
  /// The customer subscribed again.
  case resumed
  /// A product was bought that does not renew.
  case purchased
  /// The next period began.
  case renewed
  /// A payment succeeded after others had failed.
  case recovered
  /// Apple moved the renewal date.
  case extended
  /// The customer redeemed an offer.
  case offerRedeemed
  /// The customer changed the plan, with effect now.
  case planChanged
  /// The customer changed the plan, with effect at the next renewal.
  case planChangeScheduled
  /// The customer took a scheduled change back.
  case planChangeWithdrawn
  /// The subscription will renew.
  case renewalOn
  /// The subscription will end with its period.
  case renewalOff
  /// A payment failed, and Apple tries again.
  case billingProblem
  /// The grace period ended without a payment.
  case graceEnded
  /// The subscription ended.
  case ended
  /// Apple told the customer of a higher price, or the customer answered.
  case priceIncrease
  /// The customer asked for a refund, and Apple asks about the consumption.
  case refundRequested
  /// Apple gave money back.
  case refunded
  /// Apple declined a refund.
  case refundDeclined
  /// Apple took a refund back.
  case refundReversed
  /// The purchase is no longer shared with this member of the family.
  case familyAccessEnded
  /// A token for purchases outside the App Store must be reported.
  case tokenDue
  /// A parent withdrew consent to the use of the app.
  case consentRescinded

  // No notification names these.

  /// The purchase has another owner, or none.
  case ownerChanged
  /// Something else that Apple signs has changed.
  case changed
}

extension LifeCycleReason {
  /// Whether it tells that something was bought, or that a period began. That happens once for each payment.
  var isOfNewPeriod: Bool {
    switch self {
    case .started, .resumed, .purchased, .renewed, .recovered: true
    default: false
    }
  }
}
