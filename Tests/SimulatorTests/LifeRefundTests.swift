import JSON
import Testing

@testable import Simulator

/// Money that goes back.
struct LifeRefundTests {
  private let month = GivenLife.month

  @Test func theRefundOfThePresentPeriodEndsIt() throws {
    var given = GivenLife()
    given.passes(5_000)
    try given.does(.refund(transactionId: nil, percentage: 100_000, reason: 1))
    #expect(given.life.state == .revoked && given.accessEnds == nil && !given.life.willRenew && given.life.due == nil)
    let payload = given.life.payload(given.life.latest, signedAt: given.now)
    #expect(payload.revocationDate == given.now && payload.revocationReason == 1)
    #expect(payload.revocationType == "REFUND_FULL" && payload.revocationPercentage == 100_000)
    #expect(given.told.last == "REFUND")
    #expect(throws: ControlRefusal.self) {
      try given.does(.refund(transactionId: nil, percentage: 100_000, reason: 0))
    }
  }

  @Test func theRefundOfAnEarlierPeriodDoesNot() throws {
    var given = GivenLife()
    given.passes(2 * month)
    let first = given.life.transactions[0].id
    try given.does(.refund(transactionId: first, percentage: 50_000, reason: 0))
    #expect(given.life.state == .active && given.accessEnds == 3 * month && given.life.willRenew)
    #expect(given.life.payload(given.life.transactions[0], signedAt: given.now).revocationType == "REFUND_PRORATED")
  }

  /// Apple has charged for a period that has not begun.
  @Test func thePresentPeriodIsTheOneThatHasBegun() throws {
    var given = GivenLife()
    given.passes(month - 500)
    #expect(given.life.transactions.count == 2)
    #expect(throws: ControlRefusal.self) {
      try given.does(.refund(transactionId: given.life.latest.id, percentage: 100_000, reason: 0))
    }
    try given.does(.refund(transactionId: nil, percentage: 100_000, reason: 0))
    #expect(given.life.transactions[0].revocation != nil && given.life.state == .active)
  }

  @Test func aRefundIsReversed() throws {
    var given = GivenLife()
    try given.does(.refund(transactionId: nil, percentage: 100_000, reason: 0))
    given.passes(1_000)
    try given.does(.reverse(transactionId: nil))
    #expect(given.life.state == .active && given.accessEnds == month && given.told.last == "REFUND_REVERSED")
    // Apple leaves the renewal off.
    given.passes(month)
    #expect(given.told.last == "EXPIRED/VOLUNTARY")

    given = GivenLife()
    try given.does(.refund(transactionId: nil, percentage: 100_000, reason: 0))
    given.passes(2 * month)
    try given.does(.reverse(transactionId: given.life.id))
    #expect(given.life.state == .expired && given.life.latest.revocation == nil)

    given = GivenLife { $0.kind = .nonConsumable }
    try given.does(.refund(transactionId: nil, percentage: 100_000, reason: 0))
    #expect(!given.life.access(at: given.now).isGiven)
    try given.does(.reverse(transactionId: nil))
    #expect(given.life.access(at: given.now).isGiven)
  }

  @Test func sharingEnds() throws {
    var given = GivenLife { $0.isFamilyShared = true }
    #expect(given.life.payload(given.life.latest, signedAt: given.now).inAppOwnershipType == "FAMILY_SHARED")
    try given.does(.revoke)
    #expect(given.told.last == "REVOKE" && given.life.state == .revoked)
    #expect(given.life.latest.revocation?.type == .family)
    #expect(throws: ControlRefusal.self) { try given.does(.revoke) }
  }

  @Test func requestsAreAnswered() throws {
    var given = GivenLife { $0.kind = .consumable }
    let effect = try given.does(.requestRefund(transactionId: nil, reason: "LEGAL"))
    #expect(effect.notice?.requestReason == "LEGAL" && given.told.last == "CONSUMPTION_REQUEST")
    func answer(after milliseconds: Int64) -> LifeRefundRequest.Answer {
      LifeRefundRequest.Answer(time: given.now + milliseconds, version: 2, body: .object([:]), isInTime: false)
    }
    given.life.consume("7", answer(after: 0))
    #expect(given.life.refundRequests[0].answers.isEmpty)
    given.life.consume(given.life.id, answer(after: LifeRefundRequest.limit))
    given.life.consume(given.life.id, answer(after: LifeRefundRequest.limit + 1))
    #expect(given.life.refundRequests[0].answers.map(\.isInTime) == [true, false])
    try given.does(.declineRefund(transactionId: nil))
    #expect(given.told.last == "REFUND_DECLINED" && given.life.state == .active)
  }
}
