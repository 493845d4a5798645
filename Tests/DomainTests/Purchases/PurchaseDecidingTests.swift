import Domain
import DomainSupport
import Formats
import Testing

/// The transaction that decides about access.
struct PurchaseDecidingTests {
  private func deciding(_ transactions: TransactionFacts...) -> TransactionId {
    let results = [transactions, transactions.reversed()].map { order in
      Purchase(TestPurchases.key(), transactions: order)?.deciding.transactionId ?? ""
    }
    #expect(results[0] == results[1])
    return results[0]
  }

  private func period(
    _ id: TransactionId, _ bought: Double, _ expires: Double?, revoked: Double? = nil, isUpgraded: Bool = false,
    signed: Double? = nil
  ) -> TransactionFacts {
    TestPurchases.transaction(
      id, bought: bought, expires: expires, revoked: revoked, isUpgraded: isUpgraded, signed: signed)
  }

  @Test func `the latest period decides`() {
    #expect(deciding(period("1", 0, 30)) == "1")
    #expect(deciding(period("1", 0, 30), period("2", 30, 60), period("3", 60, 90)) == "3")
    // Signed later, but an earlier period.
    #expect(deciding(period("1", 0, 30, signed: 80), period("2", 30, 60)) == "2")
    // Bought again after a pause.
    #expect(deciding(period("1", 0, 30), period("2", 400, 430)) == "2")
  }

  @Test func `equal dates are ordered by end and by id`() {
    #expect(deciding(period("9", 0, 30), period("1", 0, 31)) == "1")
    #expect(deciding(period("9", 0, nil), period("1", 0, 30)) == "1")
    #expect(deciding(period("10", 0, 30), period("9", 0, 30)) == "9")
    // U+212A (KELVIN SIGN) equals `K` as a Swift `String`.
    #expect(deciding(period("K", 0, 30), period("\u{212A}", 0, 30)) == "\u{212A}")
  }

  @Test func `the refund of an earlier period does not end the present one`() {
    #expect(deciding(period("1", 0, 30, revoked: 35), period("2", 30, 60)) == "2")
    #expect(deciding(period("1", 0, 30, revoked: 35, signed: 50), period("2", 30, 60)) == "2")
  }

  @Test func `the refund of the present period revokes the purchase, although earlier ones were paid`() {
    #expect(deciding(period("1", 0, 30), period("2", 30, 60, revoked: 40)) == "2")
    // Apple signed the earlier one after the refund; it had ended before.
    #expect(deciding(period("1", 0, 30, signed: 50), period("2", 30, 60, revoked: 40)) == "2")
    #expect(deciding(period("1", 0, 30, revoked: 35), period("2", 30, 60, revoked: 40)) == "2")
  }

  /// Apple may renew up to 24 hours early.
  @Test func `a renewal that was refunded before it began leaves the period before it`() {
    #expect(deciding(period("1", 0, 30), period("2", 30, 60, revoked: 29.5, signed: 29.4)) == "1")
    #expect(deciding(period("1", 0, 30), period("2", 30, 60, revoked: 30)) == "2")
  }

  @Test func `an upgrade takes the place of a longer period`() {
    #expect(deciding(period("1", 0, 365, isUpgraded: true, signed: 11), period("2", 10, 40)) == "2")
    // Apple signed the yearly period before the upgrade, and has not been asked about it since.
    #expect(deciding(period("1", 0, 365), period("2", 10, 40)) == "2")
    // Nor does a refund of the upgrade bring it back.
    #expect(deciding(period("1", 0, 365), period("2", 10, 40, revoked: 12)) == "2")
    #expect(deciding(period("1", 0, 365, isUpgraded: true, signed: 20), period("2", 10, 40, revoked: 12)) == "2")
  }

  /// Apple renewed at 29.2 for the period from 30 on, and the customer upgraded at 29.5.
  @Test func `an upgrade takes the place of a renewal that Apple made ahead`() {
    let renewal = period("2", 30, 60, signed: 29.2)
    #expect(deciding(period("1", 0, 30), renewal) == "2")
    #expect(deciding(period("1", 0, 30), renewal, period("3", 29.5, 59.5)) == "3")
    // Apple signed the renewal again after that, and does not say that it was upgraded away from.
    #expect(deciding(period("2", 30, 60, signed: 29.6), period("3", 29.5, 59.5)) == "2")
  }

  @Test func `a period that Apple signed as running after it took back a later one is in force`() {
    #expect(deciding(period("1", 0, 365, signed: 12), period("2", 10, 40, revoked: 12)) == "1")
    #expect(deciding(period("1", 0, 365, revoked: 13, signed: 14), period("2", 10, 40, revoked: 12)) == "2")
    #expect(deciding(period("1", 0, nil, signed: 12), period("2", 10, 40, revoked: 12)) == "2")
  }

  @Test func `if no transaction counts, the latest one decides`() {
    #expect(deciding(period("1", 0, 30, isUpgraded: true), period("2", 5, 30, isUpgraded: true)) == "2")
    #expect(deciding(period("1", 0, 30, revoked: 1, isUpgraded: true), period("2", 5, 30, isUpgraded: true)) == "2")
    // A revoked one decides before one that was upgraded away from.
    #expect(deciding(period("1", 0, 30, revoked: 1), period("2", 5, 30, isUpgraded: true)) == "1")
  }

  /// A restored copy with the date of its restoration.
  @Test func `a period that ended before its date of purchase counts from its end`() {
    #expect(deciding(period("1", 50, 30), period("2", 30, 60)) == "2")
  }

  @Test(arguments: [ProductKind.nonConsumable, .consumable, .nonRenewing])
  func `of the copies of a one-time purchase the one decides that Apple signed last`(kind: ProductKind) {
    func copy(_ id: TransactionId, bought: Double = 0, revoked: Double? = nil, signed: Double, digest: UInt8 = 0)
      -> TransactionFacts
    {
      TestPurchases.transaction(id, kind, bought: bought, revoked: revoked, signed: signed, digest: digest)
    }
    #expect(deciding(copy("1", revoked: 9, signed: 10), copy("2", bought: 5, signed: 6)) == "1")
    #expect(deciding(copy("1", revoked: 9, signed: 10), copy("2", bought: 5, signed: 11)) == "2")
    for last in 10..<20 {
      let earlier = (10..<20).filter { $0 != last }.map { copy("\($0)", signed: Double($0) - 9) }
      let purchase = Purchase(TestPurchases.key(), transactions: earlier + [copy("\(last)", signed: 30)])
      #expect(purchase?.deciding.transactionId == "\(last)")
    }
    #expect(deciding(copy("1", signed: 1, digest: 2), copy("2", signed: 1, digest: 1)) == "1")
    #expect(deciding(copy("1", signed: 1), copy("2", signed: 1)) == "2")
  }

  /// Apple does not change the type of a product; if it did, there would still be one answer.
  @Test func `a subscription stays one beside other kinds`() {
    let lifetime = TestPurchases.transaction("1", .nonConsumable, bought: 0, signed: 90)
    #expect(deciding(lifetime, period("2", 30, 60)) == "2")
  }
}
