import Domain
import DomainSupport
import Import
import JSON
import Testing

struct ImportReportTests {
  private typealias T = TestPurchases
  /// On the tenth day of ``TestPurchases``.
  private let now = TestPurchases.at(10)
  private let granted = SynchronizationResult(.purchaseSynchronized, accessGranted: true, offerId: "S1")
  private let denied = SynchronizationResult(.receivedExpiredPurchase)
  private let publisher = Publisher(
    id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [],
    offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"])]), webhooks: [])

  /// A row of the file, and a subscription that runs from day 0 until a day.
  private func imported(
    _ claim: ClaimedPurchase, _ result: SynchronizationResult, until end: Double? = 30, owner: CustomerId? = "me",
    _ kind: ProductKind = .autoRenewable
  ) -> ImportedRow {
    ImportedRow(
      ImportRow(line: 2, customerId: "me", transactionId: "1", claim: claim), result,
      T.purchase(T.transaction("1", kind, bought: 0, expires: end), owner: owner), publisher: publisher, now: now)
  }

  private func text(_ row: ImportedRow) -> String { String(decoding: row.line, as: UTF8.self) }

  @Test func `what the file claims is compared with what Apple says`() {
    typealias Claim = ClaimedPurchase
    #expect(imported(Claim(), granted).differences == [])
    #expect(imported(Claim(offerId: "S1", expiresAt: T.at(30)), granted).differences == [])
    #expect(imported(Claim(offerId: "S2"), granted).differences == [.offer])
    #expect(imported(Claim(offerId: "S2"), denied).differences == [])
    #expect(imported(Claim(expiresAt: now + 1000), denied, until: 5).differences == [.access, .expiresAt])
    #expect(imported(Claim(expiresAt: now), granted).differences == [.access, .expiresAt])
    #expect(imported(Claim(expiresAt: T.at(5)), denied, until: 5).differences == [])
    #expect(imported(Claim(purchasedAt: 1), granted).differences == [.purchasedAt])
    #expect(imported(Claim(purchasedAt: T.at(0)), granted).differences == [])
  }

  /// Both give access now, and one of them for four more years.
  @Test func `an end is compared to the second, also while both give access`() {
    let end = T.at(30)
    for (claimed, isOther) in [(end + 999, false), (end + 1000, true), (end - 1, true), (T.at(1500), true)] {
      let row = imported(ClaimedPurchase(expiresAt: claimed), granted)
      #expect(row.differences == (isOther ? [.expiresAt] : []), "\(claimed - end)")
    }
    // What is owned for ever has no end, and every end differs.
    let owned = imported(ClaimedPurchase(expiresAt: end), granted, until: nil, .nonConsumable)
    #expect(owned.expiresAt == nil && owned.differences == [.expiresAt])
    // Nobody knows when access ended that there never was.
    let unknown = ImportedRow(
      ImportRow(line: 2, customerId: "me", transactionId: "1", claim: ClaimedPurchase(expiresAt: T.at(5))),
      SynchronizationResult(.transactionIdNotFound), nil, publisher: publisher, now: now)
    #expect(unknown.expiresAt == nil && unknown.differences == [])
  }

  @Test func `a difference has both sides`() {
    let row = imported(
      ClaimedPurchase(offerId: "S2", purchasedAt: T.at(1), expiresAt: T.at(1500)), granted)
    #expect(
      text(row)
        == #"{"line":2,"customerId":"me","transactionId":"1","result":"PURCHASE_SYNCHRONIZED","accessGranted":true,"#
        + #""offerId":"S1","expiresAt":"2023-12-14T22:13:20.000Z","purchasedAt":"2023-11-14T22:13:20.000Z","#
        + #""claimedOffer":"S2","claimedExpiry":"2027-12-23T22:13:20.000Z","#
        + #""claimedPurchase":"2023-11-15T22:13:20.000Z","differs":["offer","expiresAt","purchasedAt"]}"# + "\n")
    // Without a difference only Countersign's end is there.
    let same = text(imported(ClaimedPurchase(offerId: "S1", purchasedAt: T.at(0), expiresAt: T.at(30)), granted))
    #expect(same.contains(#""offerId":"S1","expiresAt":"2023-12-14T22:13:20.000Z","differs":[]"#), "\(same)")
  }

  @Test func `a conflict names both sides, and counts`() throws {
    let refused = SynchronizationResult(
      .purchaseOwnedByAnotherCustomer, originalTransactionId: "1", environment: .production)
    let row = imported(ClaimedPurchase(vendorId: "v"), refused, until: nil, owner: "other")
    #expect(
      text(row)
        == #"{"line":2,"customerId":"me","transactionId":"1","vendorId":"v","#
        + #""result":"PURCHASE_OWNED_BY_ANOTHER_CUSTOMER","accessGranted":false,"originalTransactionId":"1","#
        + #""environment":"Production","owner":"other","differs":[]}"# + "\n")
    var summary = ImportSummary()
    summary.count(row)
    summary.count(imported(ClaimedPurchase(offerId: "S2"), granted))
    #expect((summary.rows, summary.withAccess, summary.conflicts, summary.different) == (2, 1, 1, 1))
    #expect(summary.results["PURCHASE_OWNED_BY_ANOTHER_CUSTOMER"] == 1)
    let json = JSONWriter.object { summary.write(to: &$0) }
    #expect(
      String(decoding: json, as: UTF8.self).hasSuffix(
        #""results":{"PURCHASE_OWNED_BY_ANOTHER_CUSTOMER":1,"PURCHASE_SYNCHRONIZED":1}}"#))
  }

  @Test func `a row without a result has a line`() {
    let row = ImportRow(
      line: 3, customerId: "me", transactionId: "1", claim: ClaimedPurchase(vendorId: "v"))
    #expect(
      String(decoding: ImportedRow.missing(row), as: UTF8.self)
        == #"{"line":3,"customerId":"me","transactionId":"1","vendorId":"v","result":"missing"}"# + "\n")
  }
}
