extension AccessRule {
  /// The rule in a sentence, for people who help customers.
  public var words: String {
    switch rawValue {
    case Self.subscriptionActive.rawValue: "The period of the subscription is paid and not over."
    case Self.gracePeriod.rawValue: "Apple could not charge, tries again, and the grace period is not over."
    case Self.passActive.rawValue: "The pass is not over."
    case Self.ownedForever.rawValue: "The product was bought once and has no end."
    case Self.consumable.rawValue: "The product is used up when it is credited."
    case Self.provisional.rawValue: "Apple signed the purchase, but has not answered since. The access is short."
    case Self.keptAfterRefund.rawValue: "Apple refunded the purchase, and the offer lets the access last."
    case Self.granted.rawValue: "A person gave the access by hand."
    case Self.expired.rawValue: "The subscription or the pass is over."
    case Self.billingRetry.rawValue: "Apple could not charge and tries again. There is no grace period, or it is over."
    case Self.revoked.rawValue: "Apple refunded the purchase, or took it back from a family member."
    case Self.reportedRevoked.rawValue: "Apple reports that the purchase is revoked."
    case Self.upgraded.rawValue: "The customer upgraded to another product, whose purchase is not known yet."
    case Self.offerUnknown.rawValue: "No offer of the publisher has the product."
    case Self.familySharingRefused.rawValue: "A family member shares the purchase, and the offer does not allow that."
    case Self.sandboxNotAllowed.rawValue: "The purchase is a test, and this customer may not use tests."
    case Self.unconfirmed.rawValue: "Apple does not know the purchase, or has not answered for too long."
    case Self.noPurchase.rawValue: "There is no purchase for the offer."
    default: "Rule \(rawValue)."
    }
  }

  /// What support can tell the customer; `nil` where there is nothing to add.
  public var advice: String? {
    switch rawValue {
    case Self.gracePeriod.rawValue, Self.billingRetry.rawValue:
      "Apple could not charge your card. Please check the payment method in the settings of your Apple Account."
    case Self.revoked.rawValue, Self.keptAfterRefund.rawValue:
      "Apple decides about refunds, and has refunded this purchase."
    case Self.expired.rawValue: "Your subscription has ended. You can subscribe again in the app."
    case Self.familySharingRefused.rawValue: "This offer cannot be shared within a family."
    default: nil
    }
  }
}
