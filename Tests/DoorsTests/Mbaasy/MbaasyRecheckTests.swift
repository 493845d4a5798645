import Domain
import DomainSupport
import Testing

@testable import Doors

/// When a subscription is looked at again. Times are days.
struct MbaasyRecheckTests {
  private func levels(_ numbers: Set<Int>) -> MbaasyDoor.RecheckLevels {
    let all: [Int: MbaasyDoor.RecheckLevels] = [1: .every28Days, 2: .every7Days, 3: .every24Hours]
    return numbers.reduce(into: []) { $0.formUnion(all[$1] ?? []) }
  }

  /// - Parameter end: of a period that began on day 0.
  private func next(
    after last: Double, end: Double? = 365, _ numbers: Set<Int> = [], revoked: Double? = nil, isInRetry: Bool? = nil,
    signed: Double = 0
  ) -> Double? {
    let purchase = TestPurchases.purchase(
      TestPurchases.transaction(expires: end, revoked: revoked),
      renewal: isInRetry.map { TestPurchases.renewal(isInRetry: $0, signed: signed) })
    return MbaasyRecheck.next(after: TestPurchases.at(last), purchase, levels: levels(numbers)).map {
      Double($0 - TestPurchases.start) / Double(TestPurchases.day)
    }
  }

  @Test func `without a level the end of the period decides`() {
    #expect(next(after: 0) == 365)
    #expect(next(after: 364.5) == 365)
    #expect(next(after: 0, isInRetry: false) == 365)
  }

  @Test func `a subscription that was looked at after its end is over, unless Apple tries to charge`() {
    #expect(next(after: 365) == nil)
    #expect(next(after: 400, [1, 2, 3]) == nil)
    #expect(next(after: 366, isInRetry: false, signed: 366) == nil)
    #expect(next(after: 366, isInRetry: true, signed: 366) == 367)
    #expect(next(after: 365, [1], isInRetry: true, signed: 365) == 366)
    // Apple may try to charge before the end. Then the end comes first.
    #expect(next(after: 364.5, isInRetry: true, signed: 364.5) == 365)
  }

  /// In the grace period Apple tries to charge, too.
  @Test func `a subscription in its grace period is looked at every day`() {
    let purchase = TestPurchases.purchase(
      TestPurchases.transaction(expires: 365), renewal: TestPurchases.renewal(grace: 381, isInRetry: true, signed: 365))
    let next = MbaasyRecheck.next(after: TestPurchases.at(366), purchase, levels: [])
    #expect(next == TestPurchases.at(367))
  }

  @Test func `level 1 looks every 28 days`() {
    #expect(next(after: 0, [1]) == 28)
    #expect(next(after: 300, [1]) == 328)
    #expect(next(after: 350, [1]) == 365)
  }

  @Test func `level 2 looks every 7 days when the end is within 28 days`() {
    #expect(next(after: 0, [2]) == 337)
    #expect(next(after: 329, [2]) == 337)
    #expect(next(after: 332, [2]) == 339)
    #expect(next(after: 337, [2]) == 344)
    #expect(next(after: 360, [2]) == 365)
    // A period of a week is within these days from its beginning.
    #expect(next(after: 0, end: 7, [2]) == 7)
    #expect(next(after: 0, end: 14, [2]) == 7)
  }

  @Test func `level 3 looks every 24 hours when the end is within 7 days`() {
    #expect(next(after: 0, [3]) == 358)
    #expect(next(after: 357.5, [3]) == 358.5)
    #expect(next(after: 360, [3]) == 361)
    #expect(next(after: 364.5, [3]) == 365)
    #expect(next(after: 0, end: 3, [3]) == 1)
  }

  @Test func `of several levels the first look counts`() {
    #expect(next(after: 0, [1, 2]) == 28)
    #expect(next(after: 320, [1, 2]) == 337)
    #expect(next(after: 320, [1, 3]) == 348)
    #expect(next(after: 340, [1, 2, 3]) == 347)
    #expect(next(after: 355, [1, 2, 3]) == 358)
    #expect(next(after: 358, [1, 2, 3]) == 359)
    #expect(next(after: 355, [2, 3]) == 358)
  }

  @Test func `the timer of a purchase looks as often as the levels say`() throws {
    let purchase = TestPurchases.purchase(TestPurchases.transaction(expires: 60))
    for (levels, day) in [(MbaasyDoor.RecheckLevels.every28Days, 29.0), ([], 60.0)] {
      let doors = OpenDoors(mbaasy: MbaasyDoor(clientTokens: [], recheck: levels))
      let next = PurchaseTimer(offers: OfferCatalog([]), doors: doors).next(after: TestPurchases.at(1), purchase)
      // The spread of timers makes it a little later.
      let late = try #require(next) - TestPurchases.at(day)
      #expect((0...TestPurchases.day / 1000).contains(late))
    }
  }

  @Test func `what cannot change needs no look`() {
    #expect(next(after: 0, [1, 2, 3], revoked: 1) == nil)
    let reported = TestPurchases.purchase(
      TestPurchases.transaction(expires: 365),
      status: ReportedStatus(code: ReportedStatus.revoked, date: TestPurchases.at(1)))
    #expect(MbaasyRecheck.next(after: TestPurchases.at(1), reported, levels: levels([1, 2, 3])) == nil)
    for kind in [ProductKind.nonRenewing, .nonConsumable, .consumable] {
      let purchase = TestPurchases.purchase(TestPurchases.transaction("1", kind))
      #expect(MbaasyRecheck.next(after: TestPurchases.start, purchase, levels: levels([1, 2, 3])) == nil)
    }
  }

  /// Apple makes no subscription without an end. It would be over.
  @Test func `a subscription without an end is over`() {
    #expect(next(after: 0, end: nil, [1, 2, 3]) == nil)
  }

  @Test func `silly dates do not end the process`() {
    var facts = TestPurchases.transaction(expires: 1)
    facts.expiresDate = .min
    #expect(MbaasyRecheck.next(after: 0, TestPurchases.purchase(facts), levels: levels([1, 2, 3])) == nil)
    facts.expiresDate = .max
    #expect(MbaasyRecheck.next(after: .max - 1, TestPurchases.purchase(facts), levels: levels([1, 2, 3])) == .max)
  }
}
