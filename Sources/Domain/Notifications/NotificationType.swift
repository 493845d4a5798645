public import Formats

/// The event that a notification tells of; unknown types are kept.
public struct NotificationType: ExactRawValue, Sendable, Codable {
  public let rawValue: String

  /// Creates a value, known or not.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// The customer subscribed, for the first time or again.
  public static let subscribed = NotificationType(rawValue: "SUBSCRIBED")
  /// The customer changed the plan: an upgrade at once, a downgrade at the next renewal.
  public static let didChangeRenewalPref = NotificationType(rawValue: "DID_CHANGE_RENEWAL_PREF")
  /// The customer, or the App Store, switched renewal on or off.
  public static let didChangeRenewalStatus = NotificationType(rawValue: "DID_CHANGE_RENEWAL_STATUS")
  /// The customer redeemed an offer.
  public static let offerRedeemed = NotificationType(rawValue: "OFFER_REDEEMED")
  /// A subscription renewed.
  public static let didRenew = NotificationType(rawValue: "DID_RENEW")
  /// A subscription expired.
  public static let expired = NotificationType(rawValue: "EXPIRED")
  /// The payment of a renewal failed.
  public static let didFailToRenew = NotificationType(rawValue: "DID_FAIL_TO_RENEW")
  /// The grace period ended without a payment.
  public static let gracePeriodExpired = NotificationType(rawValue: "GRACE_PERIOD_EXPIRED")
  /// Apple told the customer of a higher price, or the customer agreed to it.
  public static let priceIncrease = NotificationType(rawValue: "PRICE_INCREASE")
  /// A price changed (Advanced Commerce).
  public static let priceChange = NotificationType(rawValue: "PRICE_CHANGE")
  /// A transaction was refunded.
  public static let refund = NotificationType(rawValue: "REFUND")
  /// A refund was declined.
  public static let refundDeclined = NotificationType(rawValue: "REFUND_DECLINED")
  /// Apple took a refund back.
  public static let refundReversed = NotificationType(rawValue: "REFUND_REVERSED")
  /// The customer asked for a refund and Apple asks about the consumption.
  public static let consumptionRequest = NotificationType(rawValue: "CONSUMPTION_REQUEST")
  /// The renewal date of one subscription was extended.
  public static let renewalExtended = NotificationType(rawValue: "RENEWAL_EXTENDED")
  /// The state of a mass extension.
  public static let renewalExtension = NotificationType(rawValue: "RENEWAL_EXTENSION")
  /// Family sharing ended for this member.
  public static let revoke = NotificationType(rawValue: "REVOKE")
  /// A test that the server asked for.
  public static let test = NotificationType(rawValue: "TEST")
  /// An external purchase token was made and not reported.
  public static let externalPurchaseToken = NotificationType(rawValue: "EXTERNAL_PURCHASE_TOKEN")
  /// A one-time product was bought.
  public static let oneTimeCharge = NotificationType(rawValue: "ONE_TIME_CHARGE")
  /// A parent withdrew consent.
  public static let rescindConsent = NotificationType(rawValue: "RESCIND_CONSENT")
  /// The metadata of a subscription changed (Advanced Commerce).
  public static let metadataUpdate = NotificationType(rawValue: "METADATA_UPDATE")
  /// A subscription migrated (Advanced Commerce), as Apple's library spells it.
  public static let migration = NotificationType(rawValue: "MIGRATION")
  /// The same, as Apple's changelog spells it.
  public static let migrate = NotificationType(rawValue: "MIGRATE")
}

extension NotificationType {
  /// What a type means: why a purchase changed, by subtype.
  struct Meaning {
    /// By subtype. A type that may come without one has an entry for `nil`; a stored-only kind has no reason.
    let subtypes: [NotificationSubtype?: LifeCycleReason?]
    /// The reason with a subtype that is unknown, or that is missing where Apple documents one.
    let otherwise: LifeCycleReason?

    /// A type whose subtype decides.
    init(_ subtypes: [NotificationSubtype?: LifeCycleReason]) {
      self.subtypes = subtypes.mapValues(Optional.some)
      otherwise = nil
    }

    /// A type that usually comes without a subtype, and means another thing with some.
    init(_ reason: LifeCycleReason, except subtypes: [NotificationSubtype: LifeCycleReason]) {
      var all: [NotificationSubtype?: LifeCycleReason?] = [nil: reason]
      for (subtype, other) in subtypes { all[subtype] = other }
      self.subtypes = all
      otherwise = reason
    }

    /// A type that means the same with every subtype.
    init(_ reason: LifeCycleReason?, with subtypes: [NotificationSubtype?] = [nil]) {
      self.subtypes = Dictionary(uniqueKeysWithValues: subtypes.map { ($0, reason) })
      otherwise = reason
    }
  }

  /// The meaning of each type that Apple documents. A new type is a name above and a line here, and a name in the
  /// simulator's `NotificationNames.swift`.
  static let meanings: [NotificationType: Meaning] = [
    .subscribed: Meaning([.initialBuy: .started, .resubscribe: .resumed]),
    .didChangeRenewalPref: Meaning([
      .upgrade: .planChanged, .downgrade: .planChangeScheduled, nil: .planChangeWithdrawn,
    ]),
    .didChangeRenewalStatus: Meaning([.autoRenewEnabled: .renewalOn, .autoRenewDisabled: .renewalOff]),
    // Until 2024 an offer for new or lapsed subscribers came with the subtypes of SUBSCRIBED.
    .offerRedeemed: Meaning(.offerRedeemed, with: [nil, .upgrade, .downgrade, .initialBuy, .resubscribe]),
    .didRenew: Meaning(.renewed, except: [.billingRecovery: .recovered]),
    .expired: Meaning(.ended, with: [nil, .voluntary, .billingRetry, .priceIncrease, .productNotForSale]),
    .didFailToRenew: Meaning(.billingProblem, with: [nil, .gracePeriod]),
    .gracePeriodExpired: Meaning(.graceEnded),
    .priceIncrease: Meaning(.priceIncrease, with: [.pending, .accepted]),
    .priceChange: Meaning(.priceIncrease),
    .refund: Meaning(.refunded),
    .refundDeclined: Meaning(.refundDeclined),
    .refundReversed: Meaning(.refundReversed),
    .consumptionRequest: Meaning(.refundRequested),
    .revoke: Meaning(.familyAccessEnded),
    .renewalExtended: Meaning(.extended),
    // SUMMARY and SUCCESS are one subtype: Apple's pages do not agree. Neither is about one purchase alone.
    .renewalExtension: Meaning(nil, with: [.summary, .success, .failure]),
    .oneTimeCharge: Meaning(.purchased),
    .externalPurchaseToken: Meaning(.tokenDue, with: [.unreported, .created, .activeTokenReminder]),
    .rescindConsent: Meaning(.consentRescinded),
    .metadataUpdate: Meaning(nil),
    // One type: Apple's changelog and library do not agree.
    .migration: Meaning(nil),
    .migrate: Meaning(nil),
    .test: Meaning(nil),
  ]
}
