import Formats
import Testing

@testable import Domain

/// The reason of every type and subtype that Apple documents.
struct NotificationKindTests {
  /// The table of all kinds, as it stands in Apple's words.
  static let table: [(kind: String, reason: LifeCycleReason?)] = [
    ("SUBSCRIBED/INITIAL_BUY", .started), ("SUBSCRIBED/RESUBSCRIBE", .resumed),
    ("DID_CHANGE_RENEWAL_PREF/UPGRADE", .planChanged), ("DID_CHANGE_RENEWAL_PREF/DOWNGRADE", .planChangeScheduled),
    ("DID_CHANGE_RENEWAL_PREF", .planChangeWithdrawn),
    ("DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED", .renewalOn),
    ("DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", .renewalOff),
    ("OFFER_REDEEMED", .offerRedeemed), ("OFFER_REDEEMED/UPGRADE", .offerRedeemed),
    ("OFFER_REDEEMED/DOWNGRADE", .offerRedeemed), ("OFFER_REDEEMED/INITIAL_BUY", .offerRedeemed),
    ("OFFER_REDEEMED/RESUBSCRIBE", .offerRedeemed),
    ("DID_RENEW", .renewed), ("DID_RENEW/BILLING_RECOVERY", .recovered),
    ("EXPIRED", .ended), ("EXPIRED/VOLUNTARY", .ended), ("EXPIRED/BILLING_RETRY", .ended),
    ("EXPIRED/PRICE_INCREASE", .ended), ("EXPIRED/PRODUCT_NOT_FOR_SALE", .ended),
    ("DID_FAIL_TO_RENEW", .billingProblem), ("DID_FAIL_TO_RENEW/GRACE_PERIOD", .billingProblem),
    ("GRACE_PERIOD_EXPIRED", .graceEnded),
    ("PRICE_INCREASE/PENDING", .priceIncrease), ("PRICE_INCREASE/ACCEPTED", .priceIncrease),
    ("PRICE_CHANGE", .priceIncrease),
    ("REFUND", .refunded), ("REFUND_DECLINED", .refundDeclined), ("REFUND_REVERSED", .refundReversed),
    ("CONSUMPTION_REQUEST", .refundRequested), ("REVOKE", .familyAccessEnded), ("RENEWAL_EXTENDED", .extended),
    ("RENEWAL_EXTENSION/SUMMARY", nil), ("RENEWAL_EXTENSION/SUCCESS", nil), ("RENEWAL_EXTENSION/FAILURE", nil),
    ("ONE_TIME_CHARGE", .purchased),
    ("EXTERNAL_PURCHASE_TOKEN/UNREPORTED", .tokenDue), ("EXTERNAL_PURCHASE_TOKEN/CREATED", .tokenDue),
    ("EXTERNAL_PURCHASE_TOKEN/ACTIVE_TOKEN_REMINDER", .tokenDue),
    ("RESCIND_CONSENT", .consentRescinded),
    ("METADATA_UPDATE", nil), ("MIGRATION", nil), ("MIGRATE", nil), ("TEST", nil),
  ]

  private func kind(_ text: String) -> NotificationKind {
    let names = text.split(separator: "/").map(String.init)
    return NotificationKind(
      NotificationType(rawValue: names[0]), names.count > 1 ? NotificationSubtype(rawValue: names[1]) : nil)
  }

  @Test(arguments: table)
  func `each documented kind has its reason`(name: String, reason: LifeCycleReason?) {
    let kind = kind(name)
    #expect(kind.reason == reason)
    #expect(kind.isKnown)
    #expect(kind.description == name)
  }

  @Test func `no other kind counts as documented, and every reason has a kind`() {
    #expect(NotificationKind.documented.map(\.description).sorted() == Self.table.map(\.kind).sorted())
    #expect(
      Set(Self.table.compactMap(\.reason))
        == Set(LifeCycleReason.allCases).subtracting([.ownerChanged, .changed]))
  }

  /// A subtype of later years must not become a wrong reason.
  @Test(arguments: [
    ("SUBSCRIBED/NEW", nil), ("SUBSCRIBED", nil), ("DID_CHANGE_RENEWAL_PREF/NEW", nil),
    ("DID_CHANGE_RENEWAL_STATUS/NEW", nil), ("DID_CHANGE_RENEWAL_STATUS", nil), ("RENEWAL_EXTENSION/NEW", nil),
    ("DID_RENEW/NEW", .renewed), ("EXPIRED/NEW", LifeCycleReason.ended), ("REFUND/NEW", .refunded),
    ("PRICE_INCREASE", .priceIncrease), ("NEW", nil), ("NEW/INITIAL_BUY", nil), ("subscribed/initial_buy", nil),
  ])
  func `an unknown kind is known as such`(name: String, reason: LifeCycleReason?) {
    #expect(kind(name).reason == reason)
    #expect(!kind(name).isKnown)
  }
}
