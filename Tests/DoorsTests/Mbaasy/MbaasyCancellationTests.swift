import Domain
import DomainSupport
import Testing

@testable import Doors

/// Who canceled a purchase, and when. docs/compatibility/mbaasy.md has the same table.
struct MbaasyCancellationTests {
  private func cancellation(
    _ kind: ProductKind = .autoRenewable, revoked: Double? = nil, reason: Int32? = nil,
    ownership: String? = "PURCHASED",
    status: Int32? = nil, willRenew: Bool? = nil, intent: Int32? = nil, isInRetry: Bool? = nil, renewed: Double = 31
  ) -> MbaasyCancellation? {
    var facts = TestPurchases.transaction("1", kind, expires: 30, revoked: revoked, ownership: ownership)
    facts.revocationReason = reason
    var renewal = TestPurchases.renewal(willRenew: willRenew, isInRetry: isInRetry, signed: renewed)
    renewal.expirationIntent = intent
    return .of(
      TestPurchases.purchase(
        facts, renewal: renewal, status: status.map { ReportedStatus(code: $0, date: TestPurchases.at(31)) }))
  }

  private func by(_ canceler: MbaasyCancellation.Canceler, _ day: Double?) -> MbaasyCancellation {
    MbaasyCancellation(by: canceler, at: day.map(TestPurchases.at))
  }

  @Test func `a running purchase is not canceled`() {
    #expect(cancellation() == nil)
    #expect(cancellation(willRenew: true) == nil)
    #expect(cancellation(.nonConsumable) == nil)
    #expect(cancellation(status: 2) == nil)
  }

  @Test func `a refund is the user's, and without a reason nobody knows`() {
    #expect(cancellation(revoked: 12, reason: 0) == by(.user, 12))
    #expect(cancellation(revoked: 12, reason: 1) == by(.user, 12))
    #expect(cancellation(revoked: 12) == by(.unknown, 12))
    #expect(cancellation(revoked: 12, ownership: "FAMILY_SHARED") == by(.user, 12))
    #expect(cancellation(.consumable, revoked: 12, reason: 1) == by(.user, 12))
    #expect(cancellation(revoked: 12, reason: 1, intent: 4) == by(.user, 12))
    #expect(cancellation(status: ReportedStatus.revoked) == by(.unknown, nil))
  }

  @Test(arguments: [
    (1 as Int32, MbaasyCancellation.Canceler.user), (2, .marketplace), (3, .user), (4, .publisher), (5, .unknown),
    (6, .unknown), (0, .unknown),
  ])
  func `the reason of the expiration tells who canceled`(intent: Int32, canceler: MbaasyCancellation.Canceler) {
    #expect(cancellation(intent: intent) == by(canceler, 30))
    #expect(cancellation(willRenew: false, intent: intent, isInRetry: false) == by(canceler, 30))
  }

  @Test func `nothing is canceled while Apple tries to charge`() {
    #expect(cancellation(intent: 2, isInRetry: true) == nil)
    #expect(cancellation(willRenew: false, isInRetry: true) == nil)
  }

  @Test func `the user turned the renewal off, and Apple does not say when`() {
    #expect(cancellation(willRenew: false) == by(.user, nil))
    // The renewal info is about an earlier period.
    #expect(cancellation(willRenew: false, renewed: -3) == nil)
    #expect(cancellation(.nonRenewing, willRenew: false) == nil)
  }
}
