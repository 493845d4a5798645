import DomainSupport
import Testing

@testable import Domain
@testable import Doors

/// The table of docs/compatibility/iaptic.md: what made a customer's purchases change.
struct IapticReasonTests {
  private let period = TestPurchases.transaction(expires: 30)

  private func renewal(
    _ willRenew: Bool? = true, grace: Double? = nil, intent: Int32? = nil, consent: Int32? = nil, signed: Double = 1
  ) -> RenewalFacts {
    var facts = TestPurchases.renewal(willRenew: willRenew, grace: grace, signed: signed)
    (facts.expirationIntent, facts.priceIncreaseStatus) = (intent, consent)
    return facts
  }

  private func reason(_ before: Purchase?, _ after: Purchase, now: Double = 10) -> IapticReason {
    .of(before: before, after: after, now: TestPurchases.at(now))
  }

  private func reason(_ before: RenewalFacts?, _ after: RenewalFacts?, now: Double = 10) -> IapticReason {
    reason(
      TestPurchases.purchase(period, renewal: before), TestPurchases.purchase(period, renewal: after), now: now)
  }

  @Test func `a new purchase, and one that comes with its refund`() {
    #expect(reason(nil, TestPurchases.purchase(period)) == .purchased)
    #expect(reason(nil, TestPurchases.purchase(TestPurchases.transaction(expires: 30, revoked: 3))) == .refunded)
  }

  @Test func `taken back`() {
    let before = TestPurchases.purchase(period)
    let refunded = TestPurchases.transaction(expires: 30, revoked: 3, signed: 3)
    #expect(reason(before, TestPurchases.purchase(refunded)) == .refunded)
    #expect(reason(TestPurchases.purchase(refunded), TestPurchases.purchase(refunded)) == .other)
    let noLonger = TestPurchases.transaction(expires: 30, revoked: 3, ownership: "FAMILY_SHARED", signed: 3)
    #expect(reason(before, TestPurchases.purchase(noLonger)) == .revoked)
    let reported = TestPurchases.purchase(
      period, renewal: renewal(), status: ReportedStatus(code: ReportedStatus.revoked, date: TestPurchases.at(1)))
    #expect(reason(before, reported) == .revoked)
    #expect(reason(reported, reported) == .other)
  }

  @Test func `the refund of an earlier period`() {
    let second = TestPurchases.transaction("2", bought: 30, expires: 60)
    let refunded = TestPurchases.transaction(expires: 30, revoked: 35, signed: 35)
    #expect(
      reason(TestPurchases.purchase(period, second), TestPurchases.purchase(refunded, second), now: 40) == .refunded)
  }

  @Test func `the next transaction`() {
    let before = TestPurchases.purchase(period)
    let second = TestPurchases.transaction("2", bought: 30, expires: 60)
    #expect(reason(before, TestPurchases.purchase(period, second), now: 31) == .renewed)
    let yearly = TestPurchases.transaction("2", of: "1", .autoRenewable, "yearly", bought: 30, expires: 400)
    #expect(reason(before, TestPurchases.purchase(period, yearly), now: 31) == .purchased)
    // An upgrade that Apple undid.
    #expect(reason(TestPurchases.purchase(period, second), before, now: 31) == .other)
    let once = TestPurchases.transaction("1", of: "1", .nonConsumable, "lifetime")
    let copy = TestPurchases.transaction("9", of: "1", .nonConsumable, "lifetime", signed: 8)
    #expect(reason(TestPurchases.purchase(once), TestPurchases.purchase(once, copy)) == .other)
  }

  @Test func `the end of a period`() {
    #expect(reason(renewal(), renewal(grace: 36, intent: 2, signed: 30), now: 31) == .enteredGracePeriod)
    #expect(
      reason(renewal(grace: 36, intent: 2, signed: 30), renewal(grace: 36, intent: 2, signed: 31), now: 32) == .other)
    #expect(reason(renewal(), renewal(false, intent: 1, signed: 30), now: 31) == .expired)
    #expect(reason(renewal(false), renewal(false, intent: 1, signed: 30), now: 31) == .expired)
    #expect(reason(nil, renewal(true, intent: 2, signed: 30), now: 31) == .expired)
    let longer = TestPurchases.transaction(expires: 40, signed: 5)
    #expect(reason(TestPurchases.purchase(period), TestPurchases.purchase(longer)) == .extended)
  }

  @Test func `the customer's intent and consent`() {
    #expect(reason(renewal(), renewal(false, signed: 2)) == .willLapse)
    #expect(reason(nil, renewal(false, signed: 2)) == .willLapse)
    #expect(reason(renewal(false), renewal(true, signed: 2)) == .willAutoRenew)
    #expect(reason(nil, renewal(true, signed: 2)) == .other)
    #expect(reason(renewal(consent: 0), renewal(consent: 1, signed: 2)) == .priceChangeConfirmed)
    #expect(reason(renewal(consent: 1), renewal(consent: 1, signed: 2)) == .other)
    #expect(reason(renewal(), renewal(consent: 0, signed: 2)) == .other)
  }

  @Test func `the words are the vendor's`() {
    let known: Set = [
      "RECEIPT_VALIDATED", "RECEIPT_REFRESHED", "WEBHOOK_REPEATED", "ACKNOWLEDGED", "PURCHASED", "REVOKED", "EXPIRED",
      "RENEWED", "PRICE_CHANGE_CONFIRMED", "WILL_LAPSE", "WILL_AUTO_RENEW", "EXTENDED", "REFUNDED", "PAUSED",
      "ENTERED_GRACE_PERIOD", "TEST", "OTHER",
    ]
    #expect(IapticReason.allCases.allSatisfy { known.contains($0.rawValue) })
  }
}
