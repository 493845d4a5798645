import Domain
import DomainSupport
import JSON
import Testing

@testable import Import

/// Where another system and the ledger disagree about access, and why.
struct ComparedCustomerTests {
  private typealias T = TestPurchases

  private let now = TestPurchases.at(15)
  private let rules = AccessRules(offers: OfferCatalog([Offer(id: "O", productIds: ["monthly"])]), allowsSandbox: false)

  private func customer(_ end: Int64?, _ purchase: Purchase?) -> ComparedCustomer {
    let row = ImportRow(line: 2, customerId: "me", transactionId: "1", claim: ImportRow.Claim(expiresAt: end))
    let own = purchase.map { $0.owner?.is("me") == true ? [$0] : [] } ?? []
    return ComparedCustomer(
      "me", [ComparedCustomer.Row(row, purchase)], Entitlements.of(purchases: own, grants: [], rules: rules, now: now))
  }

  private func purchase(expires: Double, owner: CustomerId? = "me") -> Purchase {
    T.purchase(T.transaction("1", expires: expires), owner: owner)
  }

  private func why(_ customer: ComparedCustomer) -> String { customer.why(customer.rows[0], rules, now) }

  @Test func `both sides count at the same moment`() {
    #expect(customer(now + 1, purchase(expires: 30)).verdict(now: now) == .same)
    #expect(customer(nil, purchase(expires: 30)).verdict(now: now) == .same)
    #expect(customer(now, purchase(expires: 10)).verdict(now: now) == .same)
    #expect(customer(now + 1, purchase(expires: 10)).verdict(now: now) == .onlyThere)
    #expect(customer(now, purchase(expires: 30)).verdict(now: now) == .onlyHere)
    #expect(ComparedCustomer("me", [], []).verdict(now: now) == .same)
  }

  @Test func `a difference has its reason`() {
    #expect(why(customer(now + 1, nil)) == "unknownPurchase")
    #expect(why(customer(now + 1, purchase(expires: 30, owner: nil))) == "noOwner")
    #expect(why(customer(now + 1, purchase(expires: 30, owner: "you"))) == "otherOwner")
    #expect(why(customer(now + 1, purchase(expires: 10))) == "expired")
    #expect(why(customer(now, purchase(expires: 30))) == "subscriptionActive")
  }

  @Test func `a line has both sides and what Apple signed`() {
    let line = String(decoding: customer(now + 1, purchase(expires: 10)).line(rules: rules, now: now), as: UTF8.self)
    for part in [
      #"{"customerId":"me","verdict":"onlyThere","entitlements":[{"accessGranted":false,"#, #""rule":"expired"}]"#,
      #""rows":[{"line":2,"transactionId":"1","claimedExpiry":""#, #""why":"expired","originalTransactionId":"1""#,
      #""decidingTransactionId":"1","expiresDate":""#, #""signedDate":""#,
    ] {
      #expect(line.contains(part), "\(line)")
    }
    #expect(line.hasSuffix("]}\n"))
  }

  @Test func `the summary counts each verdict`() {
    var summary = ComparisonSummary()
    for verdict in [ComparedCustomer.Verdict.same, .same, .onlyThere, .onlyHere] { summary.count(verdict) }
    summary.countNotInFile()
    #expect(
      summary.text
        == "4 customers in the file: 2 agree, 1 have access only there, 1 only here; 1 with access here are not in the "
        + "file")
  }
}
