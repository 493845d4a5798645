import Domain
import DomainSupport
import Testing

/// What the renewal info and the status of a purchase say at its present period.
struct PurchaseTimeTests {
  private let period = TestPurchases.transaction(bought: 30, expires: 60)

  private func isPresent(_ signed: Double) -> Bool {
    TestPurchases.purchase(period, renewal: TestPurchases.renewal(signed: signed)).presentRenewal != nil
  }

  @Test func `renewal info of an earlier period is not present`() {
    #expect(TestPurchases.purchase(period).presentRenewal == nil)
    #expect(isPresent(30) && isPresent(70))
    // Apple may renew up to 24 hours before the period begins.
    #expect(isPresent(29))
    #expect(!isPresent(28.999))
  }

  @Test func `the end of a subscription is that of its period or of its grace period`() {
    func end(_ expires: Double?, grace: Double? = nil, signed: Double = 60) -> Int64? {
      TestPurchases.purchase(
        TestPurchases.transaction(bought: 30, expires: expires),
        renewal: TestPurchases.renewal(grace: grace, signed: signed)
      ).endOfSubscription
    }
    #expect(end(60) == TestPurchases.at(60))
    #expect(end(60, grace: 66) == TestPurchases.at(66))
    #expect(end(60, grace: 50) == TestPurchases.at(60))
    #expect(end(60, grace: 66, signed: 20) == TestPurchases.at(60))
    #expect(end(nil, grace: 66) == TestPurchases.at(66))
    #expect(end(nil) == .min)
    for kind in [ProductKind.consumable, .nonConsumable, .nonRenewing] {
      let other = TestPurchases.transaction("1", kind, expires: 60)
      #expect(TestPurchases.purchase(other).endOfSubscription == nil)
    }
  }

  @Test func `a subscription ends between two times`() {
    let (end, purchase) = (TestPurchases.at(60), TestPurchases.purchase(period))
    #expect(purchase.hasEnded(since: end - 1, now: end))
    #expect(!purchase.hasEnded(since: end, now: end + 1))
    #expect(!purchase.hasEnded(since: end - 2, now: end - 1))
    #expect(!TestPurchases.purchase(TestPurchases.transaction("1", .consumable)).hasEnded(since: .min, now: .max))
  }

  private func isReportedRevoked(_ code: Int32, at date: Int64, _ facts: TransactionFacts) -> Bool {
    TestPurchases.purchase(facts, status: ReportedStatus(code: code, date: date)).isReportedRevoked
  }

  @Test func `only the status of a revocation counts`() {
    #expect(!TestPurchases.purchase(period).isReportedRevoked)
    for code in [Int32.min, -5, 0, 1, 2, 3, 4, 6, .max] {
      #expect(!isReportedRevoked(code, at: TestPurchases.at(50), period))
    }
    #expect(isReportedRevoked(5, at: TestPurchases.at(50), period))
  }

  /// The parts of one answer are signed one after the other.
  @Test func `the status counts until Apple signs the transaction again`() {
    let signed = TestPurchases.transaction(bought: 30, expires: 60, signed: 50)
    let date = TestPurchases.at(50)
    for earlier: Int64 in [-1, 0, 5_000] { #expect(isReportedRevoked(5, at: date - earlier, signed)) }
    #expect(!isReportedRevoked(5, at: date - 5_001, signed))
  }

  /// The same, when the customer has bought again since.
  @Test func `a status from before the present period does not count`() {
    let status = ReportedStatus(code: 5, date: TestPurchases.at(20))
    let earlier = TestPurchases.transaction("1", bought: 0, expires: 30)
    let later = TestPurchases.transaction("2", bought: 30, expires: 60)
    #expect(TestPurchases.purchase(earlier, status: status).isReportedRevoked)
    #expect(!TestPurchases.purchase(earlier, later, status: status).isReportedRevoked)
  }

  /// Dates come from outside.
  @Test func `silly dates end nothing but the access`() {
    for date in [Int64.min, .max] {
      var facts = TestPurchases.transaction(expires: 1)
      (facts.purchaseDate, facts.signedDate, facts.expiresDate) = (date, date, date)
      var renewal = TestPurchases.renewal(signed: 0)
      renewal.signedDate = date
      let purchase = TestPurchases.purchase(facts, renewal: renewal, status: ReportedStatus(code: 5, date: date))
      #expect(purchase.presentRenewal != nil && purchase.isReportedRevoked)
      #expect(purchase.endOfSubscription == date)
    }
  }
}
