import AppleCalls
import Crypto
import Domain
import DomainSupport
import Testing

@testable import Console

/// What would change if Apple's answer were applied, and how the console shows it.
struct PurchaseDifferenceTests {
  private typealias Given = AnsweredPurchases
  private typealias Value = PurchaseDifference.Value

  private static let now = Given.now
  private static let rules = AccessRules(
    offers: OfferCatalog([Offer(id: "S1", productIds: ["monthly", "yearly"], displayName: "Premium")]),
    allowsSandbox: true)
  private static let known = Given.purchase(facts(), renewal: Given.renewal())

  private static func facts(
    _ id: TransactionId = "101", signed: Int64 = now - 8 * Given.day, digest: UInt8 = 1,
    _ change: (inout TransactionFacts) -> Void = { _ in }
  ) -> TransactionFacts {
    var facts = Given.transaction(id)
    (facts.signedDate, facts.payloadSHA256) = (signed, [digest])
    (facts.price, facts.currency) = (9990, "EUR")
    change(&facts)
    return facts
  }

  private static func transaction(
    _ id: TransactionId = "101", _ change: (inout TransactionFacts) -> Void = { _ in }
  ) -> Evidence {
    TestPurchases.evidence(.transaction(facts(id, signed: now, digest: 9, change)))
  }

  private static func renewal(
    _ status: Int32? = nil, _ change: (inout RenewalFacts) -> Void = { _ in }
  ) -> Evidence {
    var facts = Given.renewal()
    (facts.signedDate, facts.payloadSHA256) = (now, [9])
    change(&facts)
    return TestPurchases.evidence(
      .renewalInfo(facts, status: status.map { ReportedStatus(code: $0, date: facts.signedDate) }))
  }

  private static func difference(_ evidence: Evidence..., to purchase: Purchase = known) -> PurchaseDifference {
    PurchaseDifference(purchase, evidence, rules: rules, now: now)
  }

  /// The rows but the access, as `name: now -> after`.
  private static func rows(_ difference: PurchaseDifference) -> [String] {
    difference.rows.filter { $0.name != "Access" }.map { "\($0.name): \(words($0.now)) -> \(words($0.after))" }
  }

  private static func words(_ value: Value) -> String {
    switch value {
    case .nothing: "-"
    case .text(let text), .id(let text): text
    case .time(let time): "day \((time - now) / Given.day)"
    case .access: "access"
    }
  }

  // MARK: By value

  @Test func `what Apple only signs anew is no difference`() {
    #expect(Self.difference(Self.transaction(), Self.renewal()).rows.isEmpty)
    #expect(Self.difference().rows.isEmpty)
    // The ledger has something newer.
    let old = TestPurchases.evidence(
      .transaction(Self.facts(signed: Self.now - 20 * Given.day) { $0.revocationDate = Self.now }))
    #expect(Self.difference(old).rows.isEmpty)
    // Evidence about another purchase is not merged.
    let other = Self.transaction { ($0.originalTransactionId, $0.revocationDate) = ("900", Self.now) }
    #expect(Self.difference(other).rows.isEmpty)
  }

  @Test func `a refund ends the access`() throws {
    let refunded = Self.difference(Self.transaction { $0.revocationDate = Self.now - Given.day })
    #expect(Self.rows(refunded) == ["Refunded: - -> day -1"])
    let access = try #require(refunded.rows.first)
    #expect(access.name == "Access" && access.now == .access(refunded.access.now))
    #expect(refunded.access.now.isGranted && refunded.access.now.until == Self.now + 20 * Given.day)
    #expect(refunded.access.now.rule == .subscriptionActive && refunded.access.now.offer == "Premium")
    #expect(!refunded.access.after.isGranted && refunded.access.after.rule == .revoked)
    // The unsigned status alone takes it away, too.
    let reported = Self.difference(Self.transaction(), Self.renewal(5))
    #expect(Self.rows(reported) == ["Apple's status: - -> revoked"])
    #expect(reported.access.after.rule == .reportedRevoked && reported.rows.first?.name == "Access")
  }

  @Test func `a renewal is another transaction that decides`() {
    let next = Self.transaction("102") {
      ($0.purchaseDate, $0.expiresDate) = (Self.now - Given.day, Self.now + 29 * Given.day)
      ($0.productId, $0.price) = ("yearly", 99_000)
    }
    let renewed = Self.difference(next, Self.renewal(1) { $0.nextProductId = "yearly" })
    #expect(
      Self.rows(renewed) == [
        "Product: monthly -> yearly", "Deciding transaction: 101 -> 102", "Bought: day -10 -> day -1",
        "Ends: day 20 -> day 29", "Price: 9.99 EUR -> 99.00 EUR", "Apple's status: - -> active",
        "Next product: monthly -> yearly", "Transactions: 1 -> 2",
      ])
    #expect(renewed.access.after.until == Self.now + 29 * Given.day)
  }

  @Test func `each thing that a person can see has a row`() {
    let ended = Given.purchase(
      Self.facts { $0.expiresDate = Self.now - Given.day }, renewal: Given.renewal())
    func rows(_ change: (inout RenewalFacts) -> Void) -> [String] {
      Self.rows(Self.difference(Self.renewal(nil, change), to: ended))
    }
    #expect(rows { $0.willRenew = false } == ["Renews: yes -> no"])
    #expect(rows { $0.isInBillingRetry = true } == ["Apple tries to charge: no -> yes"])
    #expect(rows { $0.graceExpiresDate = Self.now + 3 * Given.day } == ["Grace period: - -> day 3"])
    #expect(rows { $0.expirationIntent = 2 } == ["Reason of the end: - -> Apple's number 2"])
    #expect(rows { $0.priceIncreaseStatus = 0 } == ["Price increase: - -> Apple's number 0"])
    let grace = Self.difference(Self.renewal(4) { $0.graceExpiresDate = Self.now + 3 * Given.day }, to: ended)
    #expect(!grace.access.now.isGranted && grace.access.after.rule == .gracePeriod)
    #expect(Self.rows(grace) == ["Apple's status: - -> grace period", "Grace period: - -> day 3"])
    let statuses = [(1, "active"), (2, "expired"), (3, "billing retry"), (9, "Apple's number 9")] as [(Int32, String)]
    for (code, words) in statuses {
      #expect(Self.rows(Self.difference(Self.renewal(code), to: ended)) == ["Apple's status: - -> \(words)"])
    }
    #expect(Self.rows(Self.difference(Self.transaction { $0.isUpgraded = true })) == ["Upgraded: no -> yes"])
    #expect(Self.rows(Self.difference(Self.transaction { $0.price = nil })) == ["Price: 9.99 EUR -> -"])
  }

  @Test func `what no row shows is counted`() {
    let words = "Apple describes 1 known transaction differently"
    let country = Self.difference(Self.transaction { $0.storefront = "DEU" })
    #expect(Self.rows(country) == ["Other details: - -> \(words)"])
    // A transaction that does not decide has no rows of its own.
    let two = Given.purchase(Self.facts("102"), Self.facts { $0.expiresDate = Self.now - Given.day })
    let older = Self.difference(
      Self.transaction { ($0.expiresDate, $0.revocationDate) = (Self.now - Given.day, Self.now - 2 * Given.day) },
      to: two)
    #expect(Self.rows(older) == ["Other details: - -> \(words)"] && older.access.now == older.access.after)
  }

  @Test func `Apple's answer ends the access while it was away`() {
    var provisional = Self.known
    provisional.provisionalUntil = Self.now + 1000
    let confirmed = Self.difference(Self.transaction(), to: provisional)
    #expect(Self.rows(confirmed).isEmpty && confirmed.rows.map(\.name) == ["Access"])
    #expect(confirmed.access.now.rule == .provisional && confirmed.access.after.rule == .subscriptionActive)
    // Without news it is as it was.
    #expect(Self.difference(to: provisional).rows.isEmpty)
  }

  // MARK: The page

  private static func page(_ reply: PurchaseReply, _ purchase: Purchase = known) throws -> PurchaseReplyPage {
    let person = ConsolePerson(name: "ada", role: .support, publishers: .all, password: try Scrypt.ofNobody())
    return PurchaseReplyPage(
      view: ConsoleView(prefix: "/c", person: person, now: now), purchase: purchase, reply: reply, rules: rules)
  }

  private static let form = #"<form method="post" action="/c/purchases/7/Production/100/check""#

  @Test func `a difference can be applied, and the same cannot`() throws {
    let told = try Self.page(.told([Self.transaction { $0.revocationDate = Self.now - Given.day }]))
    #expect(told.status == 200 && told.retryAfter == nil)
    for words in [
      "Apple says something else", "The purchase would no longer give access", "Now", "As Apple says", "Apply it",
      "Premium: access until 12 Dec 2026, 10:00:00 UTC", "<code>revoked</code>",
      "Premium: no access, ended 21 Nov 2026, 10:00:00 UTC",
      #"name="step" value="confirm""#, Self.form, "The audit log gets your name.",
    ] { #expect(told.html.contains(words), "\(words)") }
    let same = try Self.page(.told([Self.transaction(), Self.renewal()]))
    #expect(same.status == 200 && same.html.contains("Apple says the same"))
    #expect(same.html.contains(#"href="/c/purchases/7/Production/100""#) && !same.html.contains(Self.form))
    let ended = Given.purchase(Self.facts { $0.expiresDate = Self.now - Given.day })
    let renewed = try Self.page(.told([Self.transaction("102")]), ended)
    #expect(renewed.html.contains("The purchase would give access<") && renewed.html.contains("verdict yes"))
    let signed = try Self.page(.told([Self.transaction { $0.price = 1 }]))
    #expect(signed.html.contains("The purchase gives access, before and after"))
    let cheaper = Self.transaction { ($0.expiresDate, $0.price) = (Self.now - Given.day, 1) }
    let over = try Self.page(.told([cheaper]), ended)
    #expect(over.html.contains("The purchase gives no access, before and after"))
    let forever = Given.purchase(Self.facts { ($0.kind, $0.expiresDate) = (.nonConsumable, nil) })
    let refund = Self.transaction { ($0.kind, $0.expiresDate, $0.revocationDate) = (.nonConsumable, nil, Self.now) }
    let back = try Self.page(.told([refund]), forever)
    #expect(back.html.contains("Premium: access for ever") && back.html.contains("<code>ownedForever</code>"))
  }

  @Test func `each other answer says what to do`() throws {
    let unknown = try Self.page(.unknown)
    #expect(unknown.status == 200 && unknown.retryAfter == nil && !unknown.html.contains(Self.form))
    #expect(unknown.html.contains("Apple does not know the purchase"))
    let obstacles: [(AppleObstacle, Int, Int)] = [
      (.busy(.milliseconds(200)), 429, 1), (.busy(.seconds(7)), 429, 8), (.away("com.example"), 503, 5),
      (.keyRefused("com.example"), 503, 5), (.unverified("com.example"), 503, 5),
    ]
    var titles: Set<String> = []
    for (obstacle, status, retryAfter) in obstacles {
      let page = try Self.page(.failed(obstacle))
      #expect(page.status == status && page.retryAfter == retryAfter, "\(obstacle)")
      #expect(page.html.contains(Self.form) && page.html.contains("Synchronize it"), "\(obstacle)")
      #expect(page.html.contains(#"name="step" value="confirm""#))
      titles.insert(try #require(page.html.text.firstMatch(of: /<h1>([^<]+)/)).1.description)
    }
    #expect(titles.count == obstacles.count - 1)
  }

  @Test func `markup stays text`() throws {
    let evil = "<script>alert('x')</script>"
    var facts = Given.transaction(TransactionId(evil), of: OriginalTransactionId(evil))
    facts.bundleId = BundleId(evil)
    let purchase = Given.purchase(facts)
    (facts.signedDate, facts.productId, facts.currency, facts.price) = (
      Self.now, ProductId(evil), CurrencyCode(evil), 1
    )
    var renewal = Given.renewal(of: OriginalTransactionId(evil))
    (renewal.nextProductId, renewal.signedDate) = (ProductId(evil), Self.now)
    let told = PurchaseReply.told([
      TestPurchases.evidence(.transaction(facts)), TestPurchases.evidence(.renewalInfo(renewal, status: nil)),
    ])
    let obstacles = [AppleObstacle.away(BundleId(evil)), .keyRefused(BundleId(evil)), .unverified(BundleId(evil))]
    let replies = [told, .unknown] + obstacles.map { PurchaseReply.failed($0) }
    for reply in replies {
      let page = try Self.page(reply, purchase).html
      #expect(!page.contains("<script") && page.contains("&lt;script&gt;"), "\(reply)")
    }
    #expect(try Self.page(told, purchase).html.contains("Next product"))
  }
}
