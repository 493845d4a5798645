import Domain
import Testing

/// The access that a verified purchase gives its customer, to the millisecond.
struct EntitlementTests {
  private static let now: Int64 = 1_700_000_000_000
  private static let day: Int64 = 86_400_000
  private let offers = OfferCatalog([
    Offer(id: "S1", productIds: ["monthly"]), Offer(id: "P1", productIds: ["pass"], accessDays: 30),
    Offer(id: "L1", productIds: ["lifetime"]),
  ])

  private func purchase(
    _ kind: VerifiedPurchase.Kind, _ product: String, bought: Int64 = now - 1000, expires: Int64? = nil,
    grace: Int64? = nil, revoked: Int64? = nil, isReportedRevoked: Bool = false
  ) -> VerifiedPurchase {
    VerifiedPurchase(
      kind: kind, originalTransactionId: "77", productId: product, environment: "Sandbox", purchaseDate: bought,
      expiresDate: expires, gracePeriodExpiresDate: grace, revocationDate: revoked,
      isReportedRevoked: isReportedRevoked)
  }

  private func outcome(_ purchase: VerifiedPurchase, allowsSandbox: Bool = true) -> Outcome {
    Entitlement.outcome(
      of: purchase, rules: AccessRules(offers: offers, allowsSandbox: allowsSandbox), now: Self.now)
  }

  private func granted(_ offer: String) -> Outcome {
    Outcome(
      .purchaseSynchronized, accessGranted: true, offerId: offer, originalTransactionId: "77", environment: "Sandbox")
  }

  private func refused(_ result: SynchronizationResult) -> Outcome {
    Outcome(result, originalTransactionId: "77", environment: "Sandbox")
  }

  @Test func subscriptionEndsWithItsMillisecond() {
    #expect(outcome(purchase(.autoRenewable, "monthly", expires: Self.now + 1)) == granted("S1"))
    #expect(outcome(purchase(.autoRenewable, "monthly", expires: Self.now)) == refused(.receivedExpiredPurchase))
    #expect(outcome(purchase(.autoRenewable, "monthly", expires: Self.now - 1)) == refused(.receivedExpiredPurchase))
    #expect(outcome(purchase(.autoRenewable, "monthly")) == refused(.receivedExpiredPurchase))
  }

  @Test func graceProlongsAndNeverShortens() {
    let (now, expired) = (Self.now, Self.now - 1000)
    #expect(outcome(purchase(.autoRenewable, "monthly", expires: expired, grace: now + 1)) == granted("S1"))
    #expect(
      outcome(purchase(.autoRenewable, "monthly", expires: expired, grace: now)) == refused(.receivedExpiredPurchase))
    #expect(outcome(purchase(.autoRenewable, "monthly", expires: now + 1, grace: now - 1)) == granted("S1"))
  }

  @Test func accessDaysEndANonRenewingProductOnly() {
    let span = 30 * Self.day
    #expect(outcome(purchase(.nonRenewing, "pass", bought: Self.now - span + 1)) == granted("P1"))
    #expect(outcome(purchase(.nonRenewing, "pass", bought: Self.now - span)) == refused(.receivedExpiredPurchase))
    #expect(outcome(purchase(.nonRenewing, "lifetime", bought: 0)) == granted("L1"))
    #expect(outcome(purchase(.nonConsumable, "pass", bought: 0)) == granted("P1"))
    #expect(outcome(purchase(.autoRenewable, "pass", bought: 0, expires: Self.now + 1)) == granted("P1"))
  }

  /// Apple sets no end for these purchases; if it sent a date, the date would not count.
  @Test(arguments: [VerifiedPurchase.Kind.nonConsumable, .consumable, .nonRenewing])
  func onlySubscriptionsExpire(kind: VerifiedPurchase.Kind) {
    #expect(outcome(purchase(kind, "lifetime", expires: 1)) == granted("L1"))
    #expect(outcome(purchase(kind, "lifetime")) == granted("L1"))
  }

  @Test(arguments: [VerifiedPurchase.Kind.autoRenewable, .nonConsumable, .consumable, .nonRenewing])
  func revocationComesFirst(kind: VerifiedPurchase.Kind) {
    let later = Self.now + Self.day
    for date in [0, Self.now - 1, later] {
      #expect(outcome(purchase(kind, "monthly", expires: later, revoked: date)) == refused(.purchaseRevoked))
    }
    #expect(outcome(purchase(kind, "nothing", expires: 1, revoked: 1)) == refused(.purchaseRevoked))
    #expect(
      outcome(purchase(kind, "monthly", expires: later, isReportedRevoked: true)) == refused(.purchaseRevoked))
  }

  /// The report is not signed: it takes access away, and its absence gives none.
  @Test func anAnswerServesOthersNoLongerThanItsAccess() {
    func reuse(_ purchase: VerifiedPurchase) -> Duration {
      Entitlement.reuse(of: purchase, atMost: .seconds(3), now: Self.now)
    }
    #expect(reuse(purchase(.autoRenewable, "monthly", expires: Self.now + Self.day)) == .seconds(3))
    #expect(reuse(purchase(.autoRenewable, "monthly", expires: Self.now + 1000)) == .seconds(1))
    #expect(reuse(purchase(.autoRenewable, "monthly", expires: Self.now - 1, grace: Self.now + 2000)) == .seconds(2))
    #expect(reuse(purchase(.autoRenewable, "monthly", expires: Self.now)) == .zero)
    #expect(reuse(purchase(.autoRenewable, "monthly")) == .zero)
    #expect(reuse(purchase(.nonRenewing, "pass")) == .zero)
    #expect(reuse(purchase(.nonConsumable, "lifetime")) == .seconds(3))
  }

  @Test func aReportOnlyTakesAway() {
    let expired = Self.now - 1
    #expect(!outcome(purchase(.autoRenewable, "monthly", expires: expired, isReportedRevoked: true)).accessGranted)
    #expect(!outcome(purchase(.autoRenewable, "monthly", expires: expired, isReportedRevoked: false)).accessGranted)
    #expect(
      !outcome(purchase(.autoRenewable, "monthly", expires: expired, revoked: 1, isReportedRevoked: false))
        .accessGranted)
  }

  // MARK: The sandbox

  @Test(arguments: [VerifiedPurchase.Kind.autoRenewable, .nonConsumable, .consumable, .nonRenewing])
  func `a purchase from the sandbox gives nothing where it is not allowed, whatever else is true of it`(
    kind: VerifiedPurchase.Kind
  ) {
    let end = Self.now + Self.day
    for purchase in [
      purchase(kind, "monthly", expires: end), purchase(kind, "monthly", expires: 1),
      purchase(kind, "monthly", expires: end, revoked: 1), purchase(kind, "unheard", expires: end),
    ] {
      #expect(outcome(purchase, allowsSandbox: false) == refused(.sandboxNotAllowed))
    }
  }

  @Test func `only production needs no permission`() {
    var purchase = purchase(.nonConsumable, "lifetime")
    for (environment, result) in [
      ("Production", SynchronizationResult.purchaseSynchronized), ("Sandbox", .sandboxNotAllowed),
      ("Xcode", .sandboxNotAllowed), ("production", .sandboxNotAllowed), ("", .sandboxNotAllowed),
    ] {
      purchase.environment = environment
      let outcome = outcome(purchase, allowsSandbox: false)
      #expect(outcome.result == result && outcome.environment == environment)
      #expect(outcome.accessGranted == (environment == "Production"))
    }
  }

  @Test func `what gave access a moment ago is given to nobody who would not get it now`() {
    func allows(_ outcome: Outcome, sandbox: Bool) -> Bool {
      AccessRules(offers: offers, allowsSandbox: sandbox).allow(outcome)
    }
    #expect(allows(granted("S1"), sandbox: true))
    #expect(!allows(granted("S1"), sandbox: false))
    #expect(!allows(granted("gone"), sandbox: true))
    var bought = granted("S1")
    bought.environment = "Production"
    #expect(allows(bought, sandbox: false))
    bought.environment = nil
    #expect(!allows(bought, sandbox: true))
    #expect(!allows(Outcome(.purchaseRevoked, environment: "Production"), sandbox: true))
  }

  @Test func `sandbox access is nobody's, everybody's, or that of listed customers`() {
    #expect(!SandboxAccess.nobody.allows(42))
    #expect(SandboxAccess.everybody.allows(42))
    let listed = SandboxAccess.customers([42, 7])
    #expect(listed.allows(42) && listed.allows(7) && !listed.allows(4) && !listed.allows(427))
    #expect(!SandboxAccess.customers([]).allows(0))
    let publisher = Publisher(
      id: 1, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: offers, sandboxAccess: listed,
      webhooks: [])
    #expect(publisher.accessRules(for: 7).allowsSandbox && !publisher.accessRules(for: 8).allowsSandbox)
    #expect(publisher.accessRules(for: 8).offers.contains("S1"))
  }

  @Test func unknownProduct() {
    #expect(outcome(purchase(.nonConsumable, "unheard")) == refused(.offerNotFound))
    #expect(outcome(purchase(.autoRenewable, "unheard", expires: Self.now + 1)) == refused(.offerNotFound))
    #expect(outcome(purchase(.autoRenewable, "unheard", expires: Self.now)) == refused(.receivedExpiredPurchase))
    // Product ids are compared by their bytes.
    #expect(outcome(purchase(.nonConsumable, "Lifetime")) == refused(.offerNotFound))
  }
}

/// Offers found by product.
struct OfferCatalogTests {
  @Test func ambiguity() {
    let catalog = OfferCatalog([
      Offer(id: "A", productIds: ["y", "x"]), Offer(id: "B", productIds: ["x", "z"]),
      Offer(id: "C", productIds: ["y", "x"]),
    ])
    #expect(catalog.ambiguousProductIds == ["x", "y"])
    #expect(catalog.offer(forProduct: "x")?.id == "A")
    #expect(catalog.offer(forProduct: "z")?.id == "B")
    #expect(catalog.offer(forProduct: "w") == nil)
  }

  @Test func distinctProductsAreNotAmbiguous() {
    let catalog = OfferCatalog([Offer(id: "A", productIds: ["x"]), Offer(id: "B", productIds: ["y"])])
    #expect(catalog.ambiguousProductIds.isEmpty)
    #expect(OfferCatalog([]).offer(forProduct: "x") == nil)
  }

  /// U+212A (KELVIN SIGN) equals `K` as a Swift `String`, but a product of that name is another product.
  @Test func `products and offers are their bytes`() {
    let catalog = OfferCatalog([
      Offer(id: "A", productIds: ["com.example.Kids"]), Offer(id: "K", productIds: ["com.example.\u{212A}ids"]),
    ])
    #expect(catalog.ambiguousProductIds.isEmpty)
    #expect(catalog.offer(forProduct: "com.example.Kids")?.id == "A")
    #expect(catalog.offer(forProduct: "com.example.\u{212A}ids")?.id == "K")
    #expect(catalog.contains("K") && !catalog.contains("\u{212A}"))
  }
}
