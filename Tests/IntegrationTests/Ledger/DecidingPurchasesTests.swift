import Domain
import DomainSupport
import EventLoop
import Fleets
import Formats
import Postgres
import ServerSupport
import TestSupport
import Testing

@testable import Doors
@testable import Ledger

/// Which of a customer's purchases a commit reads beside those that it has locked (decision 0065).
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct DecidingPurchasesTests {
  private static let me = "(SELECT 7::bigint AS publisher_id, 'me'::text AS customer_id)"
  private static let locked = """
    (SELECT 7::bigint AS publisher_id, k.* FROM unnest($1::text[], $2::text[])
      AS k (environment, original_transaction_id))
    """
  private static let all = PostgresStatement("test all owned", PurchaseRow.owned(by: me))
  private static let some = PostgresStatement("test deciding", PurchaseRow.deciding(for: me, beside: locked))

  /// Keeps purchases of one customer, and reads them.
  private func read(
    _ purchases: [Purchase], locked: [Purchase] = []
  ) async throws -> (all: [Purchase], deciding: [Purchase]) {
    var result: (all: [Purchase], deciding: [Purchase]) = ([], [])
    try await LedgerDatabase.with(isMigrated: true) { endpoint in
      try await LedgerDatabase.client(endpoint) { client in
        let rows = purchases.map { PurchaseRow($0, offerId: nil, dueAt: nil) }
        _ = try await client.run(PostgresQuery(PurchaseRow.insert, PurchaseRow.table.parameters(rows)))
        let keys = locked.map(\.key)
        let found = try await client.run([
          PostgresQuery(Self.all, []),
          PostgresQuery(Self.some, [.ids(keys.map(\.environment)), .ids(keys.map(\.originalTransactionId))]),
        ])
        let read = try found.map { rows in try PurchaseRow.table.records(rows).map { try $0.purchase() } }
        result = (read[0], read[1])
      }
    }
    return result
  }

  private func subscription(
    _ number: Int, bought: Double, expires: Double, revoked: Double? = nil
  ) -> Purchase {
    TestPurchases.purchase(
      TestPurchases.transaction(
        of: OriginalTransactionId("\(number)"), bought: bought, expires: expires, revoked: revoked), owner: "me")
  }

  private func numbers(_ purchases: [Purchase]) -> [String] {
    purchases.map(\.key.originalTransactionId.text).sorted()
  }

  @Test func `of three hundred subscriptions to one product the longest comes`() async throws {
    let many = (1...300).map { subscription($0, bought: Double($0), expires: Double($0) + 30) }
    #expect(try await numbers(read(many).deciding) == ["300"])
    // What the commit has locked may end with it, and surpasses nothing. It comes along.
    #expect(try await numbers(read(many, locked: [many[299], many[298]]).deciding) == ["298", "299", "300"])
    let refunded = [subscription(301, bought: 400, expires: 430, revoked: 401)]
    #expect(try await numbers(read(many + refunded).deciding) == ["300", "301"])
  }

  @Test func `of equal ones the first and the last come`() async throws {
    let many = (101...200).map { subscription($0, bought: 1, expires: 30) }
    #expect(try await numbers(read(many.shuffled()).deciding) == ["101", "200"])
    let ever = (101...200).map { number in
      TestPurchases.purchase(
        TestPurchases.transaction(of: OriginalTransactionId("\(number)"), .nonConsumable, "lifetime"), owner: "me")
    }
    #expect(try await numbers(read(ever.shuffled()).deciding) == ["101", "200"])
  }

  @Test func `what ends later or was bought later comes, too`() async throws {
    let purchases = [
      subscription(1, bought: 9, expires: 20), subscription(2, bought: 5, expires: 30),
      subscription(3, bought: 4, expires: 29), subscription(4, bought: 5, expires: 29),
      subscription(5, bought: 4, expires: 30),
    ]
    // The second lasts longest. The first was bought later, and the fourth at the same time, with a greater id.
    #expect(try await numbers(read(purchases).deciding) == ["1", "2", "4"])
  }

  @Test(arguments: 1...8) func `whatever the purchases are, the same decides as of all`(seed: Int) async throws {
    var random = SeededRandom(seed: UInt64(seed))
    // Beside purchases of production, what an override of the sandbox ends would never decide.
    let purchases = (1...150).map { purchase($0, isOnlySandbox: seed > 4, &random) }
    let locked = Array(purchases.shuffled(using: &random).prefix(20))
    let found = try await read(purchases, locked: locked)
    #expect(found.all.count == 150 && found.deciding.count < 140)
    func isLocked(_ purchase: Purchase) -> Bool { locked.contains { $0.key == purchase.key } }
    #expect(found.deciding.count(where: isLocked) == 20)
    let (all, deciding) = (found.all.filter { !isLocked($0) }, found.deciding.filter { !isLocked($0) })
    // The commit has refunded, renewed or given away some of them.
    let changed = locked.compactMap { purchase -> Purchase? in
      var facts = purchase.deciding
      switch Int.random(in: 0...3, using: &random) {
      case 0: facts.revocationDate = TestPurchases.at(1)
      case 1: facts.expiresDate = facts.expiresDate.map { $0 + 86_400_000 * 15 }
      case 2: return nil
      default: break
      }
      return TestPurchases.purchase(facts, renewal: purchase.renewal, status: purchase.status, owner: "me", version: 2)
    }
    for refunds in RefundPolicy.allCases {
      for rules in self.rules(refunds) {
        for day in stride(from: -0.5, to: 50, by: 1.25) {
          let now = TestPurchases.at(day)
          func told(_ purchases: [Purchase]) -> [ToldEntitlement] {
            Entitlements.of(purchases: purchases, grants: [], rules: rules, now: now).map(\.told)
          }
          #expect(told(deciding) == told(all))
          // With the locked ones, whatever became of them.
          #expect(told(deciding + changed) == told(all + changed))
          // A door shows the last of each product.
          func shown(_ purchases: [Purchase]) -> [IapticPurchase] {
            IapticPurchase.lastOfEachProduct(purchases.flatMap { IapticPurchase.of($0, rules: rules, now: now) })
          }
          #expect(shown(deciding) == shown(all) && shown(deciding + changed) == shown(all + changed))
        }
      }
    }
  }

  private func rules(_ refunds: RefundPolicy) -> [AccessRules] {
    let offers = OfferCatalog([
      Offer(id: "S1", productIds: ["monthly", "yearly"], refunds: refunds, grantsFamilyShared: false),
      Offer(id: "L1", productIds: ["lifetime", "pass"], accessDays: 12, refunds: refunds),
    ])
    return [
      AccessRules(offers: offers, allowsSandbox: true), AccessRules(offers: offers, allowsSandbox: false),
      AccessRules(offers: offers, allowsSandbox: false, sandboxUntil: TestPurchases.at(20)),
    ]
  }

  /// Any purchase. Dates are whole days, so that many are equal.
  private func purchase(_ number: Int, isOnlySandbox: Bool, _ random: inout SeededRandom) -> Purchase {
    func one(of count: Int) -> Bool { Int.random(in: 1...count, using: &random) == 1 }
    let product = ["monthly", "yearly", "lifetime", "pass"].randomElement(using: &random) ?? "monthly"
    let kind: ProductKind = product == "lifetime" ? .nonConsumable : product == "pass" ? .nonRenewing : .autoRenewable
    let bought = Double(Int.random(in: 0...20, using: &random))
    let lasts = Double([5, 10, 20].randomElement(using: &random) ?? 5)
    let id = OriginalTransactionId("\(1000 + number)")
    let environment: Environment = isOnlySandbox || one(of: 3) ? "Sandbox" : "Production"
    let transaction = one(of: 2) ? id.firstTransaction : TransactionId("9\(number)")
    var facts = TestPurchases.transaction(
      transaction, of: id, kind, ProductId(product), in: environment, bought: bought,
      expires: kind == .autoRenewable && !one(of: 12) ? bought + lasts : nil,
      revoked: one(of: 6) ? bought + 2 : nil, isUpgraded: one(of: 12),
      ownership: one(of: 5) ? "FAMILY_SHARED" : one(of: 9) ? nil : "PURCHASED")
    let began = bought - Double(Int.random(in: 0...3, using: &random))
    if one(of: 2) { facts.originalPurchaseDate = TestPurchases.at(began) }
    let renewal =
      kind == .autoRenewable && one(of: 2)
      ? TestPurchases.renewal(
        of: id, in: environment, willRenew: one(of: 2), grace: one(of: 3) ? bought + lasts + 6 : nil,
        isInRetry: one(of: 3), signed: one(of: 9) ? bought - 9 : bought + 1) : nil
    let reported = TestPurchases.at(one(of: 2) ? bought - 3 : bought + 3)
    let status = one(of: 3) ? ReportedStatus(code: one(of: 2) ? 5 : 1, date: reported) : nil
    var purchase = TestPurchases.purchase(facts, renewal: renewal, status: status, owner: "me", version: 1)
    if one(of: 9) { purchase.provisionalUntil = TestPurchases.at(bought + 1) }
    return purchase
  }
}
