import Domain
import DomainSupport
import Formats
import Testing

/// What was told last, and what changed since.
struct EntitlementChangeTests {
  private func told(
    _ offer: OfferId = "S1", isGranted: Bool = true, _ change: (inout ToldEntitlement) -> Void = { _ in }
  )
    -> ToldEntitlement
  {
    var told = ToldEntitlement(
      offerId: offer, accessGranted: isGranted, expiresAt: 1000, willRenew: true, environment: "Production")
    change(&told)
    return told
  }

  private func now(_ told: ToldEntitlement, version: Int64 = 1, rule: AccessRule = .subscriptionActive)
    -> OfferEntitlement
  {
    OfferEntitlement(
      offerId: told.offerId, accessGranted: told.accessGranted, expiresAt: told.expiresAt, willRenew: told.willRenew,
      billingProblem: told.billingProblem, environment: told.environment, purchase: TestPurchases.key(),
      version: version, rule: rule)
  }

  private func changes(_ before: [ToldEntitlement], _ after: [ToldEntitlement]) -> [EntitlementChange] {
    EntitlementChange.between(told: before, now: after.map { now($0) })
  }

  @Test func `nothing is told twice`() {
    #expect(changes([], []).isEmpty)
    #expect(changes([told()], [told()]).isEmpty)
    #expect(changes([told("B"), told("A")], [told("A"), told("B")]).isEmpty)
    // The version of the purchase and the rule are no part of what is told.
    #expect(EntitlementChange.between(told: [told()], now: [now(told(), version: 9, rule: .gracePeriod)]).isEmpty)
  }

  @Test func `every member counts`() {
    let differences: [(inout ToldEntitlement) -> Void] = [
      { $0.accessGranted = false }, { $0.expiresAt = 1001 }, { $0.expiresAt = nil }, { $0.willRenew = false },
      { $0.willRenew = nil }, { $0.billingProblem = true }, { $0.environment = "Sandbox" },
    ]
    for difference in differences {
      let other = told("S1", difference)
      #expect(changes([told()], [other]) == [EntitlementChange(offerId: "S1", before: told(), after: other)])
      #expect(changes([other], [told()]) == [EntitlementChange(offerId: "S1", before: other, after: told())])
    }
  }

  @Test func `access comes, goes, and moves to another offer`() {
    #expect(changes([], [told()]) == [EntitlementChange(offerId: "S1", before: nil, after: told())])
    #expect(changes([told()], []) == [EntitlementChange(offerId: "S1", before: told(), after: nil)])
    #expect(
      changes([told("B")], [told("C"), told("A")]) == [
        EntitlementChange(offerId: "A", before: nil, after: told("A")),
        EntitlementChange(offerId: "B", before: told("B"), after: nil),
        EntitlementChange(offerId: "C", before: nil, after: told("C")),
      ])
    #expect(changes([], [told("\u{212A}"), told("Z"), told("K")]).map(\.offerId) == ["K", "Z", "\u{212A}"])
  }

  /// A customer without an entitlement has no access either.
  @Test func `an entitlement without access comes and goes untold`() {
    let none = told("S1", isGranted: false)
    #expect(changes([], [none]).isEmpty)
    #expect(changes([none], []).isEmpty)
    #expect(changes([none], [told()]).count == 1)
    let problem = told("S1", isGranted: false) { $0.billingProblem = true }
    #expect(changes([none], [problem]).count == 1)
  }

  @Test func `access that ended by time is a change`() {
    let purchase = TestPurchases.purchase(TestPurchases.transaction(expires: 30))
    let rules = AccessRules(
      offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"])]), allowsSandbox: false)
    func entitlements(at day: Double) -> [OfferEntitlement] {
      Entitlements.of(purchases: [purchase], grants: [], rules: rules, now: TestPurchases.at(day))
    }
    let told = entitlements(at: 29).map(\.told)
    #expect(EntitlementChange.between(told: told, now: entitlements(at: 29.9)).isEmpty)
    let change = EntitlementChange.between(told: told, now: entitlements(at: 30)).first
    #expect(change?.before?.accessGranted == true && change?.after?.accessGranted == false)
    #expect(change?.before?.expiresAt == TestPurchases.at(30) && change?.after?.expiresAt == TestPurchases.at(30))
  }

  // MARK: JSON

  @Test func `the list has one form`() throws {
    let least = ToldEntitlement(offerId: "a\"\u{212A}", accessGranted: false, environment: "Sandbox")
    #expect(
      String(decoding: ToldEntitlement.json(of: [told(), least]), as: UTF8.self) == """
        [{"accessGranted":true,"billingProblem":false,"environment":"Production","expiresAt":1000,"offerId":"S1",\
        "willRenew":true},{"accessGranted":false,"billingProblem":false,"environment":"Sandbox",\
        "offerId":"a\\"\u{212A}"}]
        """)
    for list in [[], [told()], [told(), least, told("x", isGranted: false)]] {
      #expect(try ToldEntitlement.list(from: ToldEntitlement.json(of: list)) == list)
    }
  }

  /// `[]` is the column's default.
  @Test func `the list is read whoever wrote it`() throws {
    #expect(try ToldEntitlement.list(from: Array("[]".utf8)) == [])
    let newer =
      #"[{"new":{},"willRenew":null,"offerId":"S1","accessGranted":true,"billingProblem":false,"#
      + #""environment":"Sandbox","expiresAt":9223372036854775807}]"#
    let expected = told { ($0.expiresAt, $0.willRenew, $0.environment) = (.max, nil, "Sandbox") }
    #expect(try ToldEntitlement.list(from: Array(newer.utf8)) == [expected])
    for wrong in ["", "{}", "[{}]", #"[{"offerId":"S1"}]"#, "[1]"] {
      #expect(throws: (any Error).self) { try ToldEntitlement.list(from: Array(wrong.utf8)) }
    }
  }
}
