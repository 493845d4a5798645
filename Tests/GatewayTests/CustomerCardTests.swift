import Domain
import DomainSupport
import Ledger
import Testing

@testable import Gateway

/// The bytes of a card for helpdesks.
struct CustomerCardTests {
  private typealias Given = AnsweredPurchases

  private static let renewalInfo = #"{"renewalDate":1797069600000,"renewalPrice":9990,"currency":"EUR"}"#

  private func card(
    _ purchases: [Purchase], grants: [Grant] = [], customer: CustomerId = "42", info: String? = renewalInfo,
    page: String? = nil, by publisher: Publisher = Given.publisher()
  ) -> String {
    let found = CustomerPurchases(isKnown: true, version: 5, purchases: purchases, grants: grants)
    let renewals = info.map { info in
      Dictionary(uniqueKeysWithValues: CustomerCard.renewing(found).map { ($0, Array(info.utf8)) })
    }
    let card = CustomerCard(
      CustomerKey(publisherId: 7, id: customer), found, publisher, renewals: renewals ?? [:], page: page,
      now: Given.now)
    return String(decoding: card.json, as: UTF8.self)
  }

  @Test func `a card says what is, why, and what comes next`() {
    let offers = [Offer(id: "S1", productIds: ["monthly"], displayName: "All \"of\" it")]
    let subscription = Given.purchase(Given.transaction(), renewal: Given.renewal())
    #expect(
      card([subscription], page: "https://c.example/customers/7/42", by: Given.publisher(offers)) == """
        {"asOf":"2026-11-22T10:00:00.000Z","cleengCustomerId":42,"customerId":"42","customerVersion":5,"entitlements":[\
        {"accessGranted":true,"billingProblem":false,"environment":"Production",\
        "expiresAt":"2026-12-12T10:00:00.000Z",\
        "nextCharge":{"at":"2026-12-12T10:00:00.000Z","currency":"EUR","price":9990},\
        "offerId":"S1","offerName":"All \\"of\\" it","rule":"subscriptionActive",\
        "summary":"Has access, and renews on 2026-12-12.",\
        "why":"The period of the subscription is paid and not over.","willRenew":true}],\
        "page":"https://c.example/customers/7/42","paysTwice":[]}
        """)
  }

  @Test func `a problem with the payment says what to tell the customer`() {
    var renewal = Given.renewal()
    renewal.isInBillingRetry = true
    let over = Given.purchase(Given.transaction(expires: Given.now - Given.day), renewal: renewal)
    let text = card([over], customer: "user-7")
    #expect(text.contains(#""accessGranted":false,"billingProblem":true"#), "\(text)")
    #expect(text.contains(#""summary":"No access since 2026-11-21.""#) && !text.contains("nextCharge"), "\(text)")
    #expect(text.contains(#""reply":"Apple could not charge your card. Please check"#), "\(text)")
    #expect(!text.contains("cleengCustomerId") && !text.contains(#""page""#))
  }

  @Test func `who pays twice is told`() {
    let purchases = ["100", "200"].map { id in
      Given.purchase(
        Given.transaction(TransactionId(id), of: OriginalTransactionId(id)),
        renewal: Given.renewal(of: OriginalTransactionId(id)))
    }
    #expect(card(purchases).hasSuffix(#""paysTwice":["S1"]}"#))
    #expect(card([purchases[0]]).hasSuffix(#""paysTwice":[]}"#))
    let off = Given.purchase(
      Given.transaction("200", of: "200"), renewal: Given.renewal(of: "200", willRenew: false))
    #expect(card([purchases[0], off]).hasSuffix(#""paysTwice":[]}"#))
  }

  @Test func `what Apple has not said is left out`() {
    let subscription = Given.purchase(Given.transaction(), renewal: Given.renewal())
    // Without the newest renewal info, the end of the period is known.
    for info in [nil, "{}", "?"] {
      #expect(card([subscription], info: info).contains(#""nextCharge":{"at":"2026-12-12T10:00:00.000Z"},"#))
    }
    let silent = card([Given.purchase(Given.transaction())])
    #expect(!silent.contains("nextCharge") && !silent.contains("willRenew") && !silent.contains("reply"), "\(silent)")
    #expect(card([]).hasSuffix(#""entitlements":[],"paysTwice":[]}"#))
  }

  @Test(
    arguments: [
      (true, nil, true, false, nil, "Has access, without an end."),
      (true, 0, true, false, 0, "Has access, and renews on 1970-01-01."),
      // A person gave access in the sandbox until before the next charge.
      (true, 0, true, false, 1, "Has access until 1970-01-01."),
      (true, 0, true, false, nil, "Has access until 1970-01-01."),
      (true, 0, true, true, 0, "Has access until 1970-01-01."),
      (true, 0, false, false, nil, "Has access until 1970-01-01."),
      (true, 0, nil, false, nil, "Has access until 1970-01-01."),
      (false, 0, nil, false, nil, "No access since 1970-01-01."), (false, nil, true, true, nil, "No access."),
      (true, .max, nil, false, nil, "Has access until 9999-12-31."),
    ] as [(Bool, Int64?, Bool?, Bool, Int64?, String)])
  func `a summary is one line`(
    isGranted: Bool, end: Int64?, renews: Bool?, hasProblem: Bool, chargedAt: Int64?, words: String
  ) {
    let entitlement = OfferEntitlement(
      offerId: "S1", accessGranted: isGranted, expiresAt: end, willRenew: renews, billingProblem: hasProblem,
      environment: .production,
      purchase: PurchaseKey(publisherId: 7, environment: .production, originalTransactionId: "100"), version: 1,
      rule: .subscriptionActive)
    #expect(CustomerCard.summary(entitlement, chargedAt: chargedAt) == words)
  }
}
