import Crypto
import Domain
import DomainSupport
import Ledger
import Testing

@testable import Console

/// What a person sees before a purchase is released, or a customer is erased.
struct ActionPreviewTests {
  private static let now = AnsweredPurchases.now
  private static let customer = CustomerKey(publisherId: 7, id: "42")
  private static let rules = AccessRules(
    offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly"], displayName: "Premium & more")]), allowsSandbox: true
  )

  private static func view(_ role: ConsoleRole) throws -> ConsoleView {
    let person = ConsolePerson(name: "ada", role: role, publishers: .all, password: try Scrypt.ofNobody())
    return ConsoleView(prefix: "/c", person: person, now: now)
  }

  private static let one = AnsweredPurchases.purchase(
    AnsweredPurchases.transaction(), renewal: AnsweredPurchases.renewal())
  private static let other = AnsweredPurchases.purchase(AnsweredPurchases.transaction("201", of: "200"))

  private static func release(_ held: [Purchase], _ grants: [Grant] = [], _ refusal: String? = nil) throws
    -> ReleasePreview
  {
    ReleasePreview(
      view: try view(.support), purchase: one, owner: try #require(one.owner), rules: rules,
      holdings: CustomerPurchases(isKnown: true, version: 1, purchases: held, grants: grants), refusal: refusal)
  }

  private static func grant(until end: Int64) -> Grant {
    Grant(
      id: TestGrants.id(1), customer: customer, offerId: "S1", reason: .support, createdAt: now, endsAt: end)
  }

  @Test func `a release takes what nothing else gives`() throws {
    #expect(try Self.release([Self.one]).lost == ["S1"])
    #expect(try Self.release([Self.one, Self.other]).lost == [])
    let shorter = AnsweredPurchases.purchase(
      AnsweredPurchases.transaction("201", of: "200", expires: Self.now + AnsweredPurchases.day))
    #expect(try Self.release([Self.one, shorter]).lost == ["S1"])
    let grant = Self.grant(until: Self.now + 100 * AnsweredPurchases.day)
    #expect(try Self.release([Self.one], [grant]).lost == [])
    #expect(try Self.release([Self.one], [Self.grant(until: Self.now + 1000)]).lost == ["S1"])
  }

  @Test func `the preview of a release names the period that ends`() throws {
    let page = try Self.release([Self.one]).html
    #expect(page.contains(#"action="/c/purchases/7/Production/100/release""#))
    #expect(page.contains(#"name="subscriptionId" value="1801""#) && page.contains("access to Premium &amp; more"))
    #expect(page.contains(#"href="/c/customers/7/42""#) && !page.contains("Not done"))
    #expect(try Self.release([Self.one, Self.other], [], "Somebody else").html.contains("no access"))
    #expect(try Self.release([Self.one], [], "Somebody else").html.contains("Somebody else"))
  }

  @Test(arguments: [(["S1"], "something else gives the access"), ([], "no offer S1 now")] as [([OfferId], String)])
  func `a grant that changes nothing says why`(_ offers: [OfferId], _ reason: String) throws {
    let rules = AccessRules(
      offers: OfferCatalog(offers.map { Offer(id: $0, productIds: ["monthly"], displayName: "Premium") }),
      allowsSandbox: true)
    let held = CustomerPurchases(isKnown: true, version: 1, purchases: [Self.one], grants: [])
    let preview = GrantPreview(
      view: try Self.view(.support), change: .give(Self.grant(until: Self.now + 1000)), form: GrantForm(), rules: rules,
      holdings: held)
    #expect(preview.html.contains("This changes nothing for the customer now: ") && preview.html.contains(reason))
  }

  @Test func `an erasure says what goes, and wants the id`() throws {
    let held = CustomerPurchases(isKnown: true, version: 1, purchases: [Self.one, Self.other], grants: [])
    let page = ErasurePreview(view: try Self.view(.operator), customer: Self.customer, holdings: held).html
    #expect(page.contains(#"action="/c/customers/7/42/erase""#) && page.contains(#"name="customerId""#))
    #expect(page.contains("<dt>Purchases that lose their owner, besides consumables</dt><dd>2</dd>"))
    #expect(page.contains("<dt>Of them, subscriptions that renew</dt><dd>1</dd>"))
    // The person types the id; the page does not fill it in.
    #expect(!page.contains(#"value="42""#))
    var erasure = Erasure()
    #expect(ErasurePreview.words(erasure) == "The customer is erased. ")
    (erasure.purchases, erasure.openSynchronizations) = (2, 1)
    #expect(ErasurePreview.words(erasure).contains("2 purchases without an owner now, 1 registrations"))
  }

  private static func pages(_ role: ConsoleRole) throws -> (customer: Document, purchase: Document) {
    let view = try view(role)
    let customer = CustomerPage(
      view: view, customer: customer, rules: rules,
      holdings: CustomerPurchases(isKnown: true, version: 1, purchases: [], grants: []), purchases: [],
      timeline: ConsoleTimeline.Reading())
    let owner = OwnershipPeriod(subscriptionId: 1801, customerId: "42", beganAt: now, endedAt: nil, cause: "x")
    let purchase = PurchasePage(
      view: view, record: PurchaseRecord(one, ownerships: [owner]), rules: rules, notifications: [], evidence: [])
    return (customer.html, purchase.html)
  }

  @Test func `each role sees the buttons that it may press`() throws {
    let (viewer, support, operators) = (
      try Self.pages(.viewer), try Self.pages(.support), try Self.pages(.operator)
    )
    for action in ["/release", "/transfer", "/check"] {
      #expect(!viewer.purchase.contains(action) && support.purchase.contains(action), "\(action)")
    }
    #expect(!viewer.customer.contains("/export") && support.customer.contains("/export"))
    #expect(!support.customer.contains("/erase") && operators.customer.contains("/erase"))
  }
}
