import DomainSupport
import Testing

@testable import Domain
@testable import Doors

/// The table of docs/compatibility/iaptic.md: why a purchase was canceled, does not renew or has expired.
struct IapticCancelationReasonTests {
  /// A subscription whose period ends on day 30.
  private func reason(
    now: Double, revoked: Int32?? = .none, ownership: String? = "PURCHASED", isUpgraded: Bool = false,
    willRenew: Bool? = nil, intent: Int32? = nil, isInRetry: Bool? = nil, grace: Double? = nil, status: Int32? = nil
  ) -> IapticCancelationReason {
    var facts = TestPurchases.transaction(expires: 30, isUpgraded: isUpgraded, ownership: ownership)
    if let reason = revoked { (facts.revocationDate, facts.revocationReason) = (TestPurchases.at(5), reason) }
    var renewal = TestPurchases.renewal(willRenew: willRenew, grace: grace, isInRetry: isInRetry, signed: 1)
    renewal.expirationIntent = intent
    let purchase = TestPurchases.purchase(
      facts, renewal: renewal, status: status.map { ReportedStatus(code: $0, date: TestPurchases.at(2)) })
    return .of(purchase, now: TestPurchases.at(now))
  }

  @Test func `what Apple took back`() {
    #expect(reason(now: 10, revoked: .some(0)) == .customerOtherReason)
    #expect(reason(now: 10, revoked: .some(1)) == .customerTechnicalIssues)
    #expect(reason(now: 10, revoked: .some(nil)) == .customer)
    #expect(reason(now: 10, revoked: .some(9)) == .customer)
    #expect(reason(now: 10, revoked: .some(0), ownership: "FAMILY_SHARED") == .system)
    #expect(reason(now: 10, status: ReportedStatus.revoked) == .unknown)
  }

  @Test func `an upgrade replaces`() { #expect(reason(now: 10, isUpgraded: true, willRenew: false) == .systemReplaced) }

  @Test func `while a paid period runs, only the customer can have canceled`() {
    #expect(reason(now: 10, willRenew: true) == .none)
    #expect(reason(now: 10) == .none)
    #expect(reason(now: 10, willRenew: false) == .customer)
    // Apple's word about the end of an earlier period.
    #expect(reason(now: 10, willRenew: true, intent: 2, isInRetry: true) == .none)
  }

  @Test(
    arguments: [
      (1, .customer), (2, .systemBillingError), (3, .customerPriceIncrease), (4, .systemProductUnavailable),
      (5, .unknown), (6, .unknown),
    ] as [(Int32, IapticCancelationReason)])
  func `after the period Apple tells the reason`(intent: Int32, expected: IapticCancelationReason) {
    #expect(reason(now: 40, willRenew: false, intent: intent) == expected)
    #expect(reason(now: 31, willRenew: true, intent: intent, isInRetry: true, grace: 36) == expected)
  }

  @Test func `after the period without Apple's reason`() {
    #expect(reason(now: 40, willRenew: true, isInRetry: true) == .systemBillingError)
    #expect(reason(now: 40, willRenew: false) == .customer)
    #expect(reason(now: 40, willRenew: true) == .unknown)
    #expect(reason(now: 40) == .unknown)
  }

  @Test func `other products are not canceled unless Apple takes them back`() {
    for kind in [ProductKind.nonConsumable, .consumable, .nonRenewing] {
      let purchase = TestPurchases.purchase(TestPurchases.transaction("1", of: "1", kind, "p"))
      #expect(IapticCancelationReason.of(purchase, now: TestPurchases.at(400)) == .none)
    }
  }

  @Test func `the words are the vendor's`() {
    #expect(
      IapticCancelationReason.allCases.map(\.rawValue) == [
        "", "Developer", "System", "System.Replaced", "System.ProductUnavailable", "System.BillingError",
        "System.Deleted", "Customer", "Customer.TechnicalIssues", "Customer.PriceIncrease", "Customer.Cost",
        "Customer.FoundBetterApp", "Customer.NotUsefulEnough", "Customer.OtherReason", "Unknown",
      ])
  }
}
