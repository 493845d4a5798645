import Domain
import DomainSupport
import Formats
import JSON
import Testing

@testable import Import

/// Where another system and the ledger disagree about access, and why.
struct ComparedCustomerTests {
  private typealias T = TestPurchases

  private let now = TestPurchases.at(15)
  private let rules = AccessRules(
    offers: OfferCatalog([Offer(id: "O", productIds: ["monthly"]), Offer(id: "P", productIds: ["yearly", "coins"])]),
    allowsSandbox: false)

  private func customer(_ end: Int64?, _ purchase: Purchase?) -> ComparedCustomer {
    let row = ImportRow(line: 2, customerId: "me", transactionId: "1", claim: ClaimedPurchase(expiresAt: end))
    let own = purchase.map { $0.owner?.is("me") == true ? [$0] : [] } ?? []
    return customer([ComparedCustomer.Row(row, purchase)], own: own)
  }

  private func customer(
    _ rows: [ComparedCustomer.Row], own: [Purchase], grants: [Grant] = []
  ) -> ComparedCustomer {
    ComparedCustomer(
      "me", rows, Entitlements.of(purchases: own, grants: grants, rules: rules, now: now), purchases: own)
  }

  private func row(
    _ id: TransactionId, ends end: Int64?, offer: OfferId? = nil, _ purchase: Purchase? = nil
  ) -> ComparedCustomer.Row {
    let claim = ClaimedPurchase(offerId: offer, expiresAt: end)
    return ComparedCustomer.Row(
      ImportRow(line: 2, customerId: "me", transactionId: id, claim: claim), purchase)
  }

  private func differences(_ customer: ComparedCustomer) -> [ComparedAccess] {
    customer.accesses(offers: rules.offers, now: now).filter(\.differs)
  }

  private func verdict(_ customer: ComparedCustomer) -> ComparedCustomer.Verdict {
    customer.verdict(offers: rules.offers, now: now)
  }

  private func purchase(expires: Double, owner: CustomerId? = "me") -> Purchase {
    T.purchase(T.transaction("1", expires: expires), owner: owner)
  }

  private func why(_ customer: ComparedCustomer) -> String { customer.why(customer.rows[0], rules, now) }

  @Test func `both sides count at the same moment`() {
    #expect(verdict(customer(now + 1, purchase(expires: 30))) == .same)
    #expect(verdict(customer(nil, purchase(expires: 30))) == .same)
    #expect(verdict(customer(now, purchase(expires: 10))) == .same)
    #expect(verdict(customer(now + 1, purchase(expires: 10))) == .onlyThere)
    #expect(verdict(customer(now, purchase(expires: 30))) == .onlyHere)
    #expect(verdict(ComparedCustomer("me", [], [])) == .same)
  }

  @Test func `each offer is compared for itself`() {
    let (month, year) = (
      purchase(expires: 10), T.purchase(T.transaction("2", of: "2", .autoRenewable, "yearly", expires: 30), owner: "me")
    )
    // The month is over here, and there it runs; the year runs here, and there it is over.
    let crossed = customer([row("1", ends: now + 1, month), row("2", ends: now, year)], own: [month, year])
    #expect(verdict(crossed) == .different)
    #expect(
      differences(crossed) == [
        ComparedAccess(subject: .offer("O"), there: true), ComparedAccess(subject: .offer("P"), here: true),
      ])
    // Both give the year, and only the other system the month.
    let more = customer([row("1", ends: now + 1, month), row("2", ends: now + 1, year)], own: [month, year])
    #expect(verdict(more) == .onlyThere)
    #expect(differences(more) == [ComparedAccess(subject: .offer("O"), there: true)])
    // The file has no row about the year.
    let less = customer([row("1", ends: now, month)], own: [month, year])
    #expect(verdict(less) == .onlyHere)
    #expect(differences(less) == [ComparedAccess(subject: .offer("P"), here: true)])
  }

  @Test func `one offer by two purchases is one access`() {
    let (old, new) = (
      purchase(expires: 10), T.purchase(T.transaction("2", of: "2", expires: 30), owner: "me")
    )
    #expect(verdict(customer([row("1", ends: now + 1, old), row("2", ends: now, new)], own: [old, new])) == .same)
  }

  @Test func `a row that names no offer here stands for itself`() {
    let year = T.purchase(T.transaction("2", of: "2", .autoRenewable, "yearly", expires: 30), owner: "me")
    let unknown = customer([row("1", ends: nil)], own: [year])
    #expect(verdict(unknown) == .different)
    #expect(
      differences(unknown) == [
        ComparedAccess(subject: .offer("P"), here: true), ComparedAccess(subject: .transaction("1"), there: true),
      ])
    // If it claims an offer of the publisher's, it is about that.
    #expect(verdict(customer([row("1", ends: nil, offer: "P")], own: [year])) == .same)
    #expect(verdict(customer([row("1", ends: nil, offer: "theirs")], own: [year])) == .different)
    // A product without an offer gives nothing here, whatever the row claims.
    let foreign = T.purchase(T.transaction("3", of: "3", .autoRenewable, "weekly", expires: 30), owner: "me")
    let other = customer([row("3", ends: nil, offer: "P", foreign)], own: [foreign])
    #expect(differences(other) == [ComparedAccess(subject: .transaction("3"), there: true)])
    // Coins are no access on either side.
    let coins = T.purchase(T.transaction("4", of: "4", .consumable, "coins"), owner: "me")
    #expect(verdict(customer([row("4", ends: nil, coins)], own: [coins])) == .same)
  }

  @Test func `a difference has its reason`() {
    #expect(why(customer(now + 1, nil)) == "unknownPurchase")
    #expect(why(customer(now + 1, purchase(expires: 30, owner: nil))) == "noOwner")
    #expect(why(customer(now + 1, purchase(expires: 30, owner: "you"))) == "otherOwner")
    #expect(why(customer(now + 1, purchase(expires: 10))) == "expired")
    #expect(why(customer(now, purchase(expires: 30))) == "subscriptionActive")
  }

  @Test func `a line has both sides and what Apple signed`() {
    let line = text(customer(now + 1, purchase(expires: 10)))
    for part in [
      #"{"customerId":"me","verdict":"onlyThere","differences":[{"offerId":"O","there":true,"here":false}],"#,
      #""entitlements":[{"accessGranted":false,"#, #""rule":"expired","environment":"Production","#,
      #""rows":[{"line":2,"transactionId":"1","claimedExpiry":""#, #""why":"expired","originalTransactionId":"1""#,
      #""decidingTransactionId":"1","productId":"monthly","expiresDate":""#, #""signedDate":""#,
    ] {
      #expect(line.contains(part), "\(line)")
    }
    #expect(line.hasSuffix("]}\n"))
  }

  @Test func `a rule about a failed charge names the renewal info`() {
    let paid = T.transaction("1", expires: 10)
    let inGrace = T.purchase(
      paid, renewal: T.renewal(willRenew: true, grace: 20, isInRetry: true, signed: 10), owner: "me")
    let inRetry = T.purchase(paid, renewal: T.renewal(isInRetry: true, signed: 11), owner: "me")
    let grace = text(customer([], own: [inGrace]))
    #expect(
      grace.contains(#""verdict":"onlyHere","differences":[{"offerId":"O","there":false,"here":true}]"#), "\(grace)")
    // Nobody has named the purchase, and the line has its evidence all the same.
    #expect(grace.contains(#""rule":"gracePeriod","environment":"Production","decidingTransactionId":"1""#), "\(grace)")
    let end = rfc3339(milliseconds: T.at(20))
    let signed = rfc3339(milliseconds: T.at(10))
    #expect(
      grace.contains(
        #""renewalInfo":{"signedDate":"\#(signed)","willRenew":true,"gracePeriodExpiresDate":"\#(end)","#
          + #""isInBillingRetry":true}"#), "\(grace)")
    let retry = text(customer([row("1", ends: now + 1, inRetry)], own: [inRetry]))
    #expect(retry.contains(#""why":"billingRetry""#) && retry.contains(#""isInBillingRetry":true"#), "\(retry)")
  }

  @Test func `a status that Apple does not sign stands beside the evidence`() {
    let status = ReportedStatus(code: ReportedStatus.revoked, date: T.at(12))
    let revoked = T.purchase(T.transaction("1", expires: 30), status: status, owner: "me")
    let line = text(customer([row("1", ends: now + 1, revoked)], own: [revoked]))
    #expect(
      line.contains(#""why":"reportedRevoked""#) && line.contains(#""reportedStatus":{"code":5,"date":""#), "\(line)")
  }

  @Test func `access by hand names its grant`() throws {
    let id = try #require(GrantId(canonical: "0d3c1f9e-0f0a-4c1b-8a52-2f8f3a5f0b11"))
    let grant = Grant(
      id: id, customer: CustomerKey(publisherId: 7, id: "me"), offerId: "P", reason: .support, note: nil,
      createdAt: T.at(1), endsAt: T.at(40))
    let line = text(customer([], own: [], grants: [grant]))
    #expect(line.contains(#""rule":"granted","grantId":"\#(id.text)""#), "\(line)")
  }

  private func text(_ customer: ComparedCustomer) -> String {
    String(decoding: customer.line(rules: rules, now: now), as: UTF8.self)
  }

  @Test func `the summary counts each verdict`() {
    var summary = ComparisonSummary()
    for verdict in [ComparedCustomer.Verdict.same, .same, .onlyThere, .onlyHere, .different] { summary.count(verdict) }
    summary.countNotInFile()
    #expect(
      summary.text
        == "5 customers in the file: 2 agree, 1 have more access there, 1 more here, 1 something else there than here; "
        + "1 with access here are not in the file")
  }
}
