import Domain
import DomainSupport
import Formats
import JSON
import Ledger
import TestSupport
import Testing

@testable import Gateway

/// Compares docs/reference/openapi.yaml with the answers about purchases and entitlements.
struct OpenAPIPurchaseTests {
  private typealias Given = AnsweredPurchases

  private func names(_ bytes: [UInt8], _ path: String...) throws -> Set<String> {
    var value: JSONValue = try JSONText(bytes).decoded()
    for name in path {
      guard case .object(let members) = value, let member = members[name] else { return [] }
      if case .array(let elements) = member, let first = elements.first { value = first } else { value = member }
    }
    if case .object(let members) = value { return Set(members.keys.map(\.text)) } else { return [] }
  }

  private func documented(_ path: String...) throws -> Set<String> {
    Set(try OpenAPIFile().keys(["components", "schemas"] + path + ["properties"]))
  }

  /// A purchase with everything that can be known of one.
  private var full: Purchase {
    var facts = Given.transaction()
    facts.revocationDate = 1
    facts.revocationReason = 1
    facts.revocationType = "REFUND_PRORATED"
    facts.revocationPercentage = 50_000
    facts.quantity = 1
    facts.price = 9990
    facts.currency = "USD"
    facts.appAccountToken = "5a1f0a6e-8f0b-4d2c-9a63-0c6e2d1b7f10"
    var renewal = Given.renewal()
    renewal.graceExpiresDate = 1
    renewal.expirationIntent = 1
    renewal.nextProductId = "yearly"
    return Given.purchase(facts, renewal: renewal)
  }

  @Test func `a purchase`() throws {
    let record = PurchaseRecord(
      full, firstGrants: ["101": 1],
      ownerships: [OwnershipPeriod(subscriptionId: 1, customerId: "42", beganAt: 1, endedAt: 2, cause: "transfer")])
    let offers = [Offer(id: "S1", productIds: ["monthly"]), Offer(id: "S2", productIds: ["yearly"])]
    let one = PurchaseWriter(Given.publisher(offers), now: Given.now).one(record)
    #expect(try names(one) == documented("KnownPurchase"))
    #expect(try names(one, "transactions") == documented("KnownTransaction"))
    #expect(try names(one, "ownerships") == documented("Ownership"))
    #expect(try names(one, "access") == documented("Access"))
  }

  @Test func `an order`() throws {
    let order = Order(
      id: "M1", app: "a", transactions: full.transactions.values.map(\.self), purchases: [full.key: full])
    let answer = order.json(Given.publisher([Offer(id: "S1", productIds: ["monthly"])]), now: Given.now)
    #expect(try names(answer) == documented("Order"))
    #expect(try names(answer, "transactions") == documented("OrderTransaction"))
    #expect(try names(answer, "transactions", "purchase").isSubset(of: documented("KnownPurchase")))
  }

  @Test func entitlements() throws {
    let subscription = Given.purchase(Given.transaction(), renewal: Given.renewal())
    let answer = EntitlementsAnswer(
      CustomerKey(publisherId: 7, id: "42"), CustomerPurchases(isKnown: true, version: 1, purchases: [subscription]),
      Given.publisher(), now: Given.now)
    #expect(try names(answer.list) == documented("CustomerEntitlements"))
    #expect(try names(answer.list, "entitlements").union(["grant"]) == documented("Entitlement"))
    #expect(try names(answer.list, "entitlements", "purchase") == documented("DecidingPurchase"))
    #expect(try names(answer.one("S1")).union(["grant"]) == documented("CustomerEntitlement"))
  }

  @Test func `a customer's card`() throws {
    func card(_ purchase: Purchase) -> [UInt8] {
      let renewal = Array(#"{"renewalPrice":9990,"currency":"EUR"}"#.utf8)
      return CustomerCard(
        CustomerKey(publisherId: 7, id: "42"), CustomerPurchases(isKnown: true, version: 1, purchases: [purchase]),
        Given.publisher(), renewals: [purchase.key: renewal], page: "https://c.example/customers/7/42", now: Given.now
      ).json
    }
    let renews = card(Given.purchase(Given.transaction(), renewal: Given.renewal()))
    #expect(try names(renews) == documented("CustomerCard"))
    #expect(try names(renews, "entitlements", "nextCharge") == documented("NextCharge"))
    let refunded = try names(card(full), "entitlements")
    #expect(refunded.contains("reply"))
    #expect(try names(renews, "entitlements").union(refunded) == documented("CardEntitlement"))
  }

  @Test func `access by hand`() throws {
    let grant = Grant(
      id: GrantId(random: Array(repeating: 1, count: 16)), customer: CustomerKey(publisherId: 7, id: "42"),
      offerId: "S1", reason: .promo, note: "a", createdAt: Given.now, endsAt: Given.now + 1)
    let answer = EntitlementsAnswer(
      grant.customer, CustomerPurchases(isKnown: true, grants: [grant]), Given.publisher(), now: Given.now)
    #expect(try names(answer.list, "entitlements").isSubset(of: documented("Entitlement")))
    #expect(try names(answer.one("S1"), "grant") == documented("DecidingGrant"))
    var withdrawn = grant
    withdrawn.withdrawnAt = Given.now
    let list = GrantAPI.list([withdrawn], of: "42", next: nil, now: Given.now)
    #expect(try names(list, "grants") == documented("Grant"))
    #expect(try documented("NewGrant") == Set(grantMembers))
    let reasons = try OpenAPIFile().value("components", "schemas", "GrantReason", "enum")
    #expect(reasons == "[\(Grant.Reason.allCases.map(\.rawValue).joined(separator: ", "))]")
  }

  @Test func `sandbox access by hand`() throws {
    let override = SandboxOverride(
      customer: CustomerKey(publisherId: 7, id: "42"), endsAt: Given.now + 1, reason: .testing, note: "a", setBy: "b",
      setAt: Given.now, endedAt: Given.now)
    let document = SandboxOverrideAPI.document(override, now: Given.now)
    #expect(try names(document) == documented("SandboxAccess"))
    #expect(try documented("NewSandboxAccess") == Set(sandboxOverrideMembers))
    let reasons = try OpenAPIFile().value("components", "schemas", "SandboxAccessReason", "enum")
    #expect(reasons == "[\(SandboxOverride.Reason.allCases.map(\.rawValue).joined(separator: ", "))]")
  }

  @Test func `every rule is documented`() throws {
    let lines = try OpenAPIFile().lines
    let start = try #require(lines.firstIndex(of: "    AccessRule:"))
    let documented = lines[(start + 1)...].prefix { $0.hasPrefix("     ") }.map { $0.drop { $0 == " " } }
      .filter { $0.hasPrefix("- `") }.map { String($0.dropFirst(3).prefix { $0 != "`" }) }
    #expect(documented.sorted() == AccessRule.known.map(\.rawValue).sorted())
  }
}
