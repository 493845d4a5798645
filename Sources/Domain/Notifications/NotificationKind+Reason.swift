extension NotificationKind {
  /// Why the purchase changed; `nil` for kinds that are only stored, and for those that this version does not know.
  ///
  /// It only names the event. What changed follows from the evidence, whatever Apple calls it.
  public var reason: LifeCycleReason? {
    guard let row = Self.rows[type] else { return nil }
    // A new subtype must not turn into a wrong reason: only a type whose subtypes all mean the same may ignore it.
    return row.subtypes[subtype] ?? row.otherwise
  }

  /// Whether this version knows the type with this subtype. Tell an operator of one that it does not know.
  public var isKnown: Bool { Self.rows[type]?.subtypes.keys.contains(subtype) ?? false }

  /// Every kind that Apple documents, in no order.
  public static var documented: [NotificationKind] {
    rows.flatMap { type, row in row.subtypes.keys.map { NotificationKind(type, $0) } }
  }

  /// The reasons of one type.
  private struct Row {
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

  private static let rows: [NotificationType: Row] = [
    .subscribed: Row([.initialBuy: .started, .resubscribe: .resumed]),
    .didChangeRenewalPref: Row([
      .upgrade: .planChanged, .downgrade: .planChangeScheduled, nil: .planChangeWithdrawn,
    ]),
    .didChangeRenewalStatus: Row([.autoRenewEnabled: .renewalOn, .autoRenewDisabled: .renewalOff]),
    // Until 2024 an offer for new or lapsed subscribers came with the subtypes of SUBSCRIBED.
    .offerRedeemed: Row(.offerRedeemed, with: [nil, .upgrade, .downgrade, .initialBuy, .resubscribe]),
    .didRenew: Row(.renewed, except: [.billingRecovery: .recovered]),
    .expired: Row(.ended, with: [nil, .voluntary, .billingRetry, .priceIncrease, .productNotForSale]),
    .didFailToRenew: Row(.billingProblem, with: [nil, .gracePeriod]),
    .gracePeriodExpired: Row(.graceEnded),
    .priceIncrease: Row(.priceIncrease, with: [.pending, .accepted]),
    .priceChange: Row(.priceIncrease),
    .refund: Row(.refunded),
    .refundDeclined: Row(.refundDeclined),
    .refundReversed: Row(.refundReversed),
    .consumptionRequest: Row(.refundRequested),
    .revoke: Row(.familyAccessEnded),
    .renewalExtended: Row(.extended),
    // SUMMARY and SUCCESS are one subtype: Apple's pages do not agree. Neither is about one purchase alone.
    .renewalExtension: Row(nil, with: [.summary, .success, .failure]),
    .oneTimeCharge: Row(.purchased),
    .externalPurchaseToken: Row(.tokenDue, with: [.unreported, .created, .activeTokenReminder]),
    .rescindConsent: Row(.consentRescinded),
    .metadataUpdate: Row(nil),
    // One type: Apple's changelog and library do not agree.
    .migration: Row(nil),
    .migrate: Row(nil),
    .test: Row(nil),
  ]
}
