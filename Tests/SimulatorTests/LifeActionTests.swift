import Testing

@testable import Simulator

/// What somebody makes happen to a life.
struct LifeActionTests {
  private let month = GivenLife.month

  @Test func renewsByHand() throws {
    var given = GivenLife()
    given.passes(10_000)
    try given.does(.renew(period: 3_600_000))
    #expect(given.accessEnds == month + 3_600_000 && given.life.latest.purchaseDate == given.now)
    #expect(given.told.last == "DID_RENEW" && given.life.period == 3_600_000)
  }

  @Test func failsAndRecovers() throws {
    var given = GivenLife()
    given.passes(10_000)
    try given.does(.fail(grace: nil, isAtEnd: false))
    #expect(given.life.state == .billingRetry && given.accessEnds == nil)
    // The period is cut, or the signed date would go on giving access.
    #expect(given.life.latest.expiresDate == given.now)
    given.passes(5_000)
    try given.does(.recover)
    #expect(given.told.last == "DID_RENEW/BILLING_RECOVERY" && given.accessEnds == 15_000 + month)

    try given.does(.fail(grace: true, isAtEnd: false))
    #expect(given.life.state == .grace && given.told.last == "DID_FAIL_TO_RENEW/GRACE_PERIOD")
    given.passes(1_000)
    try given.does(.recover)
    // In grace, the billing date stays.
    #expect(given.accessEnds == 15_000 + month)

    try given.does(.fail(grace: true, isAtEnd: false))
    try given.does(.endGrace)
    #expect(given.life.state == .billingRetry && given.told.last == "GRACE_PERIOD_EXPIRED")
    #expect(given.life.renewalPayload(signedAt: given.now)?.gracePeriodExpiresDate == nil)
    try given.does(.expire(.billingRetry, isAtEnd: false))
    #expect(given.told.last == "EXPIRED/BILLING_RETRY")
    try given.does(.renew(period: nil))
    #expect(given.told.last == "SUBSCRIBED/RESUBSCRIBE" && given.life.runBegan == given.now)
    #expect(given.life.willRenew && given.life.expirationIntent == nil && !given.life.latest.isRenewal)
  }

  @Test func upgradesUnderTheSameId() throws {
    var given = GivenLife()
    given.passes(10_000)
    let effect = try given.does(.upgrade(LifeUpgrade(product: "yearly")))
    #expect(effect.successor == nil && given.told.last == "DID_CHANGE_RENEWAL_PREF/UPGRADE")
    #expect(given.life.transactions.map(\.isUpgraded) == [true, false])
    #expect(given.life.latest.productId == "com.example.app.yearly" && given.life.latest.price == 99_990)
    #expect(given.accessEnds == 10_000 + 12 * month)
    let payloads = given.life.transactions.map { given.life.payload($0, signedAt: given.now) }
    #expect(payloads.map(\.originalTransactionId) == [given.life.id, given.life.id])
    #expect(payloads.map(\.isUpgraded) == [true, nil])
    #expect(throws: ControlRefusal.self) { try given.does(.upgrade(LifeUpgrade(product: "yearly"))) }
  }

  @Test func upgradesUnderANewId() throws {
    var given = GivenLife { $0.age = 5_000 }
    let upgrade = LifeUpgrade(product: "yearly", isSeparate: true, originalTransactionId: "2000000000000077")
    let effect = try given.does(.upgrade(upgrade))
    let successor = try #require(effect.successor)
    #expect(successor.id == "2000000000000077" && successor.previousId == given.life.id)
    #expect(successor.latest.purchaseDate == given.now && successor.access(at: given.now).isGiven)
    #expect(
      successor.payload(successor.latest, signedAt: given.now).previousOriginalTransactionId == given.life.id)
    #expect(effect.successorNotice == LifeNotice("DID_CHANGE_RENEWAL_PREF", "UPGRADE", successor.id))
    #expect(given.life.state == .upgraded && given.life.successorId == successor.id && given.life.due == nil)
    #expect(given.life.latest.isUpgraded && !given.life.access(at: given.now).isGiven)
    #expect(throws: ControlRefusal.self) { try given.does(.renew(period: nil)) }
  }

  @Test func downgradesWithTheNextPeriod() throws {
    var given = GivenLife { ($0.productId, $0.period) = ("com.example.app.yearly", 12 * GivenLife.month) }
    try given.does(.downgrade(product: "monthly", period: nil))
    #expect(given.told.last == "DID_CHANGE_RENEWAL_PREF/DOWNGRADE")
    #expect(given.life.renewalPayload(signedAt: given.now)?.autoRenewProductId == "com.example.app.monthly")
    #expect(given.life.latest.productId == "com.example.app.yearly")
    try given.does(.downgrade(product: "yearly", period: nil))
    #expect(given.told.last == "DID_CHANGE_RENEWAL_PREF")
    try given.does(.downgrade(product: "com.example.app.monthly", period: nil))
    given.passes(12 * month)
    #expect(given.life.latest.productId == "com.example.app.monthly" && given.accessEnds == 13 * month)
  }

  @Test func turnsTheRenewalOffAndOn() throws {
    var given = GivenLife()
    try given.does(.setRenewal(false))
    #expect(given.told.last == "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED")
    #expect(given.life.renewalPayload(signedAt: given.now)?.autoRenewStatus == 0)
    try given.does(.setRenewal(true))
    given.passes(month)
    #expect(given.told.suffix(2) == ["DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED", "DID_RENEW"])
  }

  @Test func extendsThePeriod() throws {
    var given = GivenLife()
    try given.does(.extend(days: 15))
    #expect(given.accessEnds == month + 30_000 && given.told.last == "RENEWAL_EXTENDED")
    given.passes(month)
    #expect(given.life.transactions.count == 1)
  }

  @Test func redeemsAnOfferForTheNextPeriod() throws {
    var given = GivenLife()
    try given.does(
      .redeem(LifeOffer(type: 3, identifier: "SPRING", discountType: "PAY_AS_YOU_GO", period: "P2W")))
    #expect(given.told.last == "OFFER_REDEEMED" && given.life.latest.offer == nil)
    #expect(given.life.renewalPayload(signedAt: given.now)?.offerIdentifier == "SPRING")
    given.passes(month)
    #expect(given.life.latest.offer?.identifier == "SPRING" && given.accessEnds == month + 28_000)
    given.passes(28_000)
    #expect(given.life.latest.offer == nil)
  }

  /// Within one millisecond, too, data that changed has a newer signature than what was signed before.
  @Test func signaturesTellTheOrderOfChanges() throws {
    var given = GivenLife()
    let first = given.life.signingDate(at: given.now)
    #expect(first == given.now && given.life.signingDate(at: given.now) == first)
    try given.does(.setRenewal(false))
    #expect(given.life.signingDate(at: given.now) == first + 1)
    // A clock that was set back changes nothing.
    #expect(given.life.signingDate(at: given.now - 10_000) == first + 1)
  }

  @Test func whatDoesNotFitIsRefused() throws {
    var given = GivenLife()
    let start = given.life
    let misfits: [LifeAction] = [
      .recover, .endGrace, .revoke, .reverse(transactionId: nil), .refund(transactionId: "7", percentage: 1, reason: 0),
    ]
    for action in misfits {
      #expect(throws: ControlRefusal.self, "\(action)") { try given.does(action) }
    }
    #expect(given.life == start)
    try given.does(.expire(.other, isAtEnd: false))
    #expect(given.told.last == "EXPIRED")
    let over: [LifeAction] = [
      .fail(grace: nil, isAtEnd: false), .expire(.voluntary, isAtEnd: false), .extend(days: 1), .setRenewal(true),
      .upgrade(LifeUpgrade(product: "yearly")), .downgrade(product: "weekly", period: nil),
      .increasePrice(nil, isAccepted: true), .redeem(.trial),
    ]
    for action in over {
      #expect(throws: ControlRefusal.self, "\(action)") { try given.does(action) }
    }
  }
}
