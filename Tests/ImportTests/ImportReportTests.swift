import Domain
import DomainSupport
import Import
import JSON
import Testing

struct ImportReportTests {
  private let now: Int64 = 1_767_323_045_000

  private func imported(
    _ claim: ImportRow.Claim, _ result: SynchronizationResult, owner: CustomerId? = "me"
  ) -> ImportedRow {
    ImportedRow(
      ImportRow(line: 2, customerId: "me", transactionId: "1", claim: claim), result,
      TestPurchases.purchase(TestPurchases.transaction("1"), owner: owner))
  }

  @Test func `what the file claims is compared with what Apple says`() {
    let granted = SynchronizationResult(.purchaseSynchronized, accessGranted: true, offerId: "S1")
    let denied = SynchronizationResult(.receivedExpiredPurchase)
    #expect(imported(ImportRow.Claim(offerId: "S1", expiresAt: now + 1), granted).differences(now: now) == [])
    #expect(imported(ImportRow.Claim(offerId: "S2"), granted).differences(now: now) == ["offer"])
    #expect(imported(ImportRow.Claim(offerId: "S2"), denied).differences(now: now) == [])
    #expect(imported(ImportRow.Claim(expiresAt: now + 1), denied).differences(now: now) == ["access"])
    #expect(imported(ImportRow.Claim(expiresAt: now), granted).differences(now: now) == ["access"])
    #expect(imported(ImportRow.Claim(purchasedAt: 1), granted).differences(now: now) == ["purchasedAt"])
  }

  @Test func `a conflict names both sides, and counts`() throws {
    let refused = SynchronizationResult(
      .purchaseOwnedByAnotherCustomer, originalTransactionId: "1", environment: .production)
    let row = imported(ImportRow.Claim(vendorId: "v"), refused, owner: "other")
    #expect(
      String(decoding: row.line(now: now), as: UTF8.self)
        == #"{"line":2,"customerId":"me","transactionId":"1","vendorId":"v","#
        + #""result":"PURCHASE_OWNED_BY_ANOTHER_CUSTOMER","accessGranted":false,"originalTransactionId":"1","#
        + #""environment":"Production","owner":"other","differs":[]}"# + "\n")
    var summary = ImportSummary()
    summary.count(row, now: now)
    let granted = SynchronizationResult(.purchaseSynchronized, accessGranted: true)
    summary.count(imported(ImportRow.Claim(), granted), now: now)
    #expect((summary.rows, summary.withAccess, summary.conflicts, summary.different) == (2, 1, 1, 0))
    #expect(summary.results["PURCHASE_OWNED_BY_ANOTHER_CUSTOMER"] == 1)
  }
}
