import Testing

@testable import Simulator

/// What happens to a life when time passes.
struct LifeCourseTests {
  private let month = GivenLife.month

  @Test func renewsByItselfShortlyBeforeTheEnd() {
    var given = GivenLife()
    #expect(given.accessEnds == month)
    // Half a day before the end, which is a second here.
    given.passes(month - 1001)
    #expect(given.life.transactions.count == 1)
    given.passes(1)
    #expect(given.life.transactions.count == 2 && given.accessEnds == 2 * month)
    #expect(given.life.latest.purchaseDate == GivenLife.start + month && given.life.latest.isRenewal)
    given.passes(10 * month)
    #expect(given.life.transactions.count == 12)
    #expect(given.told == ["SUBSCRIBED/INITIAL_BUY"] + Array(repeating: "DID_RENEW", count: 11))
    #expect(Set(given.life.transactions.map(\.id)).count == 12)
  }

  @Test func catchesUpAfterAPause() {
    var given = GivenLife()
    given.now += 5 * month
    var count = 0
    while given.life.passTime(to: given.now, &given.numbers) != nil { count += 1 }
    #expect(count == 5 && given.accessEnds == 6 * month)
  }

  @Test func lapsesWithoutRenewal() {
    var given = GivenLife { $0.autoRenews = false }
    #expect(given.life.due == GivenLife.start + month)
    given.passes(month)
    #expect(given.life.state == .expired && given.accessEnds == nil && given.life.due == nil)
    #expect(given.life.renewalPayload(signedAt: given.now)?.expirationIntent == 1)
    #expect(given.told.last == "EXPIRED/VOLUNTARY")
    #expect(given.life.latest.expiresDate == GivenLife.start + month)
  }

  @Test func failsThroughGraceAndRetryToTheEnd() throws {
    var given = GivenLife {
      $0.failsAtEnd = true
      $0.grace = GivenLife.scale.days(16)
    }
    given.passes(month)
    #expect(given.life.state == .grace && given.accessEnds == month + 32_000)
    #expect(given.life.state.status == .gracePeriod)
    let grace = try #require(given.life.renewalPayload(signedAt: given.now))
    #expect(grace.isInBillingRetryPeriod && grace.gracePeriodExpiresDate == GivenLife.start + month + 32_000)
    given.passes(32_000)
    #expect(given.life.state == .billingRetry && given.accessEnds == nil)
    let retry = try #require(given.life.renewalPayload(signedAt: given.now))
    #expect(retry.isInBillingRetryPeriod && retry.gracePeriodExpiresDate == nil && retry.expirationIntent == 2)
    given.passes(120_000 - 32_000)
    #expect(given.life.state == .expired)
    #expect(
      given.told == [
        "SUBSCRIBED/INITIAL_BUY", "DID_FAIL_TO_RENEW/GRACE_PERIOD", "GRACE_PERIOD_EXPIRED", "EXPIRED/BILLING_RETRY",
      ])
  }

  @Test func failsWithoutGrace() {
    var given = GivenLife { $0.failsAtEnd = true }
    given.passes(month)
    #expect(given.life.state == .billingRetry && given.told.last == "DID_FAIL_TO_RENEW")
    given.passes(120_000)
    #expect(given.told.last == "EXPIRED/BILLING_RETRY")
  }

  @Test func aMissingConsentEndsIt() throws {
    var given = GivenLife()
    try given.does(.increasePrice(12_990, isAccepted: false))
    #expect(given.told.last == "PRICE_INCREASE/PENDING")
    #expect(given.life.renewalPayload(signedAt: given.now)?.priceIncreaseStatus == 0)
    given.passes(month)
    #expect(given.told.last == "EXPIRED/PRICE_INCREASE" && given.life.expirationIntent == 3)

    given = GivenLife()
    try given.does(.increasePrice(12_990, isAccepted: false))
    try given.does(.increasePrice(nil, isAccepted: true))
    given.passes(month)
    #expect(given.life.latest.price == 12_990 && given.told.suffix(2) == ["PRICE_INCREASE/ACCEPTED", "DID_RENEW"])
  }

  @Test func endsAsScripted() throws {
    var given = GivenLife()
    let effect = try given.does(.expire(.productNotForSale, isAtEnd: true))
    #expect(effect == Life.Effect() && given.accessEnds == month)
    given.passes(month)
    #expect(given.told.last == "EXPIRED/PRODUCT_NOT_FOR_SALE" && given.life.expirationIntent == 4)

    given = GivenLife()
    try given.does(.fail(grace: true, isAtEnd: true))
    given.passes(month)
    // Sixteen days, where the life has no grace of its own.
    #expect(given.life.state == .grace && given.accessEnds == month + 32_000)

    given = GivenLife()
    try given.does(.expire(.voluntary, isAtEnd: true))
    given.passes(month)
    #expect(given.told.last == "EXPIRED/VOLUNTARY")
  }

  @Test func aTrialIsAWeekAndFree() {
    var given = GivenLife { $0.offer = .trial }
    #expect(given.accessEnds == 14_000 && given.life.latest.price == 0)
    let payload = given.life.payload(given.life.latest, signedAt: given.now)
    #expect(payload.offerType == 1 && payload.offerDiscountType == "FREE_TRIAL" && payload.offerPeriod == "P1W")
    given.passes(14_000)
    #expect(given.life.latest.price == 9_990 && given.life.latest.offer == nil)
    #expect(given.accessEnds == 14_000 + month)
  }

  @Test(arguments: [LifeKind.nonRenewing, .consumable, .nonConsumable])
  func aOneTimePurchaseStays(kind: LifeKind) {
    var given = GivenLife { $0.kind = kind }
    given.passes(1000 * month)
    #expect(given.told == ["ONE_TIME_CHARGE"] && given.life.due == nil)
    #expect(given.life.access(at: given.now).isGiven && given.life.access(at: given.now).until == nil)
    #expect(given.life.subscription(signedAt: given.now) == nil)
    #expect(given.life.payload(given.life.latest, signedAt: given.now).type == kind.name)
    #expect(throws: ControlRefusal.self) { try given.does(.renew(period: nil)) }
  }

  @Test func lengthsShrink() {
    let real = LifeScale(monthMilliseconds: 0)
    #expect(real.months(1) == 30 * 86_400_000 && real.days(3) == 3 * 86_400_000 && real.hours(12) == 43_200_000)
    let scale = GivenLife.scale
    #expect(scale.months(12) == 720_000 && scale.days(1) == 2000 && scale.hours(12) == 1000)
    #expect(scale.period("P3D") == 6000 && scale.period("P2W") == 28_000 && scale.period("P1Y") == 720_000)
    for text in ["", "P", "P1", "1W", "P0W", "PT1H", "P-1D", "P1X", "P1001D"] { #expect(scale.period(text) == nil) }
  }
}
