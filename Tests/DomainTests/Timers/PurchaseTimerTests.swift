import Domain
import DomainSupport
import Formats
import Testing

/// When a purchase is looked at although nobody asks.
struct PurchaseTimerTests {
  private typealias T = TestPurchases
  private static let offers = OfferCatalog([
    Offer(id: "P1", productIds: ["pass"], accessDays: 30), Offer(id: "P2", productIds: ["forever"]),
  ])
  private let timer = PurchaseTimer(offers: PurchaseTimerTests.offers)

  /// The next look in days, and how much later the spread may make it.
  private func next(at days: Double, _ purchase: Purchase) -> Double? {
    timer.next(after: T.at(days), purchase).map { Double($0 - T.start) / Double(T.day) }
  }

  private func expect(
    _ look: Double?, from earliest: Double, spread: Double = 0.001, _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(look.map { $0 >= earliest && $0 <= earliest + spread } == true, comment, sourceLocation: sourceLocation)
  }

  // MARK: Subscriptions

  @Test func `a running subscription is looked at when its period ends`() {
    expect(next(at: 1, T.purchase(T.transaction(expires: 30))), from: 30)
  }

  @Test func `a subscription in grace is looked at when the grace period ends`() {
    let purchase = T.purchase(T.transaction(expires: 30), renewal: T.renewal(grace: 46, isInRetry: true, signed: 30))
    expect(next(at: 31, purchase), from: 46)
  }

  @Test func `billing retry is looked at once a day, for sixty days`() {
    let purchase = T.purchase(T.transaction(expires: 30), renewal: T.renewal(isInRetry: true, signed: 30))
    expect(next(at: 31, purchase), from: 32)
    expect(next(at: 89.5, purchase), from: 90.5)
    #expect(next(at: 90, purchase) == nil)
  }

  @Test func `a renewal that does not come is asked for soon, and then ever more rarely`() {
    let purchase = T.purchase(T.transaction(expires: 30), renewal: T.renewal(willRenew: true, signed: 1))
    let first = next(at: 30, purchase).map { ($0 - 30) * 86_400 }
    #expect(first.map { $0 >= 29 && $0 <= 32 } == true, "\(String(describing: first))")
    expect(next(at: 31, purchase), from: 31.5, spread: 0.01)
    expect(next(at: 40, purchase), from: 41)
    #expect(next(at: 90, purchase) == nil)
  }

  @Test func `a subscription that ended has no timer`() {
    #expect(
      next(at: 31, T.purchase(T.transaction(expires: 30), renewal: T.renewal(willRenew: false, signed: 30))) == nil)
    // What was signed before the end may have changed since.
    #expect(
      next(at: 30, T.purchase(T.transaction(expires: 30), renewal: T.renewal(willRenew: false, signed: 2))) != nil)
  }

  @Test func `an upgrade whose successor is not known is looked at soon`() {
    let purchase = T.purchase(T.transaction(expires: 30, isUpgraded: true, signed: 10))
    expect(next(at: 11, purchase), from: 12, spread: 0.01)
  }

  @Test func `a refunded subscription has no timer after its end`() {
    let refunded = T.purchase(T.transaction(expires: 30, revoked: 5))
    expect(next(at: 6, refunded), from: 30)
    #expect(next(at: 31, refunded) == nil)
    let kept = PurchaseTimer(
      offers: OfferCatalog([Offer(id: "P1", productIds: ["pass"], accessDays: 30, refunds: .keepUntilPeriodEnd)]))
    let pass = T.purchase(T.transaction("1", .nonRenewing, "pass", revoked: 5))
    #expect(kept.next(after: T.at(20), pass).map { $0 >= T.at(30) } == true)
  }

  // MARK: Other products

  @Test func `a pass is looked at when the publisher's days end, and once a month before`() {
    let pass = T.purchase(T.transaction("1", .nonRenewing, "pass"))
    expect(next(at: 1, pass), from: 28, spread: 2.001)
    expect(next(at: 20, pass), from: 30)
    #expect(next(at: 30, pass) == nil)
    #expect(timer.needsApple(.nonRenewing, "pass", purchaseDate: T.at(0), now: T.at(29)))
    #expect(!timer.needsApple(.nonRenewing, "pass", purchaseDate: T.at(0), now: T.at(30)))
    #expect(timer.needsApple(.nonRenewing, "forever", purchaseDate: T.at(0), now: T.at(300)))
  }

  @Test func `a purchase without an end is looked at once a month`() {
    for facts in [T.transaction("1", .nonConsumable, "forever"), T.transaction("1", .nonRenewing, "forever")] {
      expect(next(at: 5, T.purchase(facts)), from: 32, spread: 3.001)
    }
    #expect(next(at: 5, T.purchase(T.transaction("1", .nonConsumable, "forever", revoked: 2))) == nil)
  }

  @Test func `a consumable has no timer`() {
    #expect(next(at: 5, T.purchase(T.transaction("1", .consumable, "coins"))) == nil)
  }

  // MARK: Besides

  @Test func `a provisional access ends by the clock`() {
    var purchase = T.purchase(T.transaction(expires: 30))
    purchase.provisionalUntil = T.at(2)
    expect(next(at: 1, purchase), from: 2)
  }

  @Test func `a lifted revocation and an earlier end are doubtful`() {
    let paid = T.purchase(T.transaction(expires: 30))
    let refunded = T.purchase(T.transaction(expires: 30, revoked: 5))
    let shorter = T.purchase(T.transaction(expires: 20))
    let next = T.purchase(T.transaction(expires: 30), T.transaction("2", bought: 30, expires: 60))
    #expect(paid.isDoubtful(after: refunded) && shorter.isDoubtful(after: paid))
    #expect(!refunded.isDoubtful(after: paid) && !paid.isDoubtful(after: shorter) && !next.isDoubtful(after: paid))
    #expect(!paid.isDoubtful(after: paid))
  }

  @Test func `a revoked status that is lifted is doubtful, unless the purchase says why`() {
    let revoked = T.purchase(
      T.transaction(expires: 30), status: ReportedStatus(code: ReportedStatus.revoked, date: T.at(5)))
    let active = T.purchase(T.transaction(expires: 30), status: ReportedStatus(code: 1, date: T.at(6)))
    let refunded = T.purchase(
      T.transaction(expires: 30, revoked: 5, signed: 6), status: ReportedStatus(code: 5, date: T.at(5)))
    let again = T.purchase(
      T.transaction(expires: 30), T.transaction("2", bought: 6, expires: 36, signed: 6),
      status: ReportedStatus(code: 1, date: T.at(6)))
    #expect(active.isDoubtful(after: revoked))
    #expect(!revoked.isDoubtful(after: active) && !refunded.isDoubtful(after: revoked))
    #expect(!again.isDoubtful(after: revoked))
  }

  @Test func `Apple's absence is waited for in growing steps, an hour at most`() {
    let ended = T.purchase(T.transaction(expires: 30))
    #expect(PurchaseTimer.retry(after: T.at(30), ended) == T.at(30) + 30_000)
    #expect(PurchaseTimer.retry(after: T.at(30) + 600_000, ended) == T.at(30) + 900_000)
    #expect(PurchaseTimer.retry(after: T.at(31), ended) == T.at(31) + 3_600_000)
    var running = T.purchase(T.transaction(expires: 30))
    running.updatedAt = T.at(1)
    #expect(PurchaseTimer.retry(after: T.at(1) + 120_000, running) == T.at(1) + 180_000)
  }

  @Test func `purchases with one end are spread over a minute, each always by the same time`() {
    let looks = (1...200).compactMap { number in
      timer.next(after: T.at(0), T.purchase(T.transaction("\(number)", of: "\(number)", expires: 30)))
    }
    #expect(looks.allSatisfy { (T.at(30)...T.at(30) + 60_000).contains($0) })
    #expect(Set(looks).count > 150)
    let purchase = T.purchase(T.transaction(expires: 30))
    #expect(timer.next(after: T.at(0), purchase) == timer.next(after: T.at(0), purchase))
  }
}
