import DomainSupport
import Testing

@testable import Domain

/// What is answered from facts.
struct ConsumptionPolicyTests {
  private typealias T = TestPurchases
  private typealias R = TestRefunds

  private func answer(
    _ facts: TransactionFacts, _ policy: ConsumptionPolicy = ConsumptionPolicy(.fromFacts), owner: CustomerId? = "me",
    _ consent: Consent? = TestRefunds.consent, days: Int? = 30, now: Double = 15,
    mode: Publisher.Mode = .live
  ) -> ConsumptionAnswer? {
    let offer = Offer(id: "O", productIds: ["monthly", "pass", "coins"], accessDays: days, consumption: policy)
    let publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: OfferCatalog([offer]),
      mode: mode, webhooks: [])
    return ConsumptionPolicy.answer(about: facts, owner: owner, consent, publisher: publisher, now: T.at(now))
  }

  private let subscription = TestPurchases.transaction(expires: 30)
  private let pass = TestPurchases.transaction("1", .nonRenewing, "pass")
  private let coins = TestPurchases.transaction("1", .consumable, "coins")

  @Test func `only a policy, an owner and a standing consent answer`() {
    #expect(answer(subscription) == ConsumptionAnswer(.delivered, isSampleProvided: false))
    #expect(answer(subscription, ConsumptionPolicy()) == nil)
    #expect(answer(subscription, owner: nil) == nil)
    #expect(answer(subscription, mode: .shadow) == nil)
    #expect(answer(subscription, ConsumptionPolicy(.fromFacts), nil) == nil)
    #expect(answer(subscription, ConsumptionPolicy(.fromFacts), R.refusal) == nil)
    #expect(answer(T.transaction("1", .consumable, "unknown")) == nil)
    #expect(answer(T.transaction(expires: 30, ownership: "FAMILY_SHARED")) == nil)
  }

  @Test func `the used part of a pass is that of its time`() {
    #expect(answer(pass, now: 15)?.percentage == 50_000)
    #expect(answer(pass, now: -1)?.percentage == 0)
    #expect(answer(pass, now: 0)?.percentage == 0)
    #expect(answer(pass, now: 45)?.percentage == 100_000)
    #expect(answer(pass, days: nil)?.percentage == nil)
    #expect(answer(subscription)?.percentage == nil && answer(coins)?.percentage == nil)
  }

  @Test func `a preference that Apple would not take is left out`() {
    func wanted(_ facts: TransactionFacts, _ preference: ConsumptionAnswer.Preference, now: Double = 15)
      -> ConsumptionAnswer.Preference?
    {
      answer(facts, ConsumptionPolicy(.fromFacts, preference: preference, isSampleProvided: true), now: now)?.preference
    }
    for facts in [subscription, pass, coins] {
      #expect(wanted(facts, .decline) == .decline && wanted(facts, .grantFull) == .grantFull)
    }
    #expect(wanted(subscription, .grantProrated) == .grantProrated && wanted(pass, .grantProrated) == .grantProrated)
    #expect(wanted(coins, .grantProrated) == nil && wanted(pass, .grantProrated, now: 45) == nil)
    let full = ConsumptionPolicy(.fromFacts, preference: .decline, isSampleProvided: true)
    #expect(answer(coins, full)?.isSampleProvided == true)
  }

  // MARK: Answers

  @Test func `Apple's rules`() {
    func defect(_ delivery: ConsumptionAnswer.Delivery, _ percentage: Int32?, _ kind: ProductKind)
      -> ConsumptionAnswer.Defect?
    {
      ConsumptionAnswer(delivery, percentage: percentage, isSampleProvided: false).defect(for: kind)
    }
    #expect(defect(.delivered, 1, .autoRenewable) == .percentageOfSubscription)
    #expect(defect(.delivered, 0, .autoRenewable) == .percentageOfSubscription)
    #expect(defect(.delivered, nil, .autoRenewable) == nil)
    #expect(defect(.other, 1, .consumable) == .percentageOfUndelivered)
    #expect(defect(.other, 0, .consumable) == nil && defect(.delivered, 100_000, .consumable) == nil)
    let percentages: [(Int32?, Bool)] = [(nil, false), (0, false), (1, true), (99_999, true), (100_000, false)]
    for (percentage, isGood) in percentages {
      let answer = ConsumptionAnswer(
        .delivered, percentage: percentage, preference: .grantProrated, isSampleProvided: false)
      #expect((answer.defect(for: .consumable) == nil) == isGood)
    }
    let prorated = ConsumptionAnswer(.delivered, preference: .grantProrated, isSampleProvided: false)
    #expect(prorated.defect(for: .autoRenewable) == nil)
  }

  @Test func `the body is Apple's, and is read again`() {
    let full = ConsumptionAnswer(.wrongItem, percentage: 0, preference: .grantFull, isSampleProvided: true)
    #expect(
      String(decoding: full.body, as: UTF8.self) == """
        {"consumptionPercentage":0,"customerConsented":true,"deliveryStatus":"UNDELIVERED_WRONG_ITEM",\
        "refundPreference":"GRANT_FULL","sampleContentProvided":true}
        """)
    #expect(ConsumptionAnswer(body: full.body) == full)
    #expect(ConsumptionAnswer(body: R.other.body) == R.other)
    #expect(ConsumptionAnswer(body: Array("{}".utf8)) == nil)
  }
}
