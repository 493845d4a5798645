import Domain
import DomainSupport
import Formats
import Testing

/// Evidence folds to the same purchase in any order, and however often a piece comes.
struct PurchaseFoldTests {
  private let key = TestPurchases.key()

  private func evidence(_ transaction: TransactionFacts) -> Evidence {
    TestPurchases.evidence(.transaction(transaction))
  }

  private func evidence(_ renewal: RenewalFacts, status: Int32? = nil) -> Evidence {
    let status = status.map { ReportedStatus(code: $0, date: renewal.signedDate) }
    return TestPurchases.evidence(.renewalInfo(renewal, status: status))
  }

  // MARK: Order and repetition

  /// A random piece. Few values, so that dates and digests collide. The digest tells the content, as SHA-256 does.
  private func piece(_ random: inout SeededRandom) -> Evidence {
    let (signed, digest) = (Double(Int.random(in: 0..<3, using: &random)), UInt8.random(in: 0..<12, using: &random))
    guard Bool.random(using: &random) else {
      let codes: [Int32?] = [nil, 1, 5]
      return evidence(
        TestPurchases.renewal(
          willRenew: digest % 2 == 0, grace: digest % 3 == 0 ? Double(digest) : nil, signed: signed, digest: digest),
        status: codes[Int.random(in: 0..<3, using: &random)])
    }
    let bought = Double(digest % 4)
    return evidence(
      TestPurchases.transaction(
        "\(Int.random(in: 1...3, using: &random))", digest % 7 == 0 ? .nonConsumable : .autoRenewable,
        bought: bought, expires: digest % 5 == 0 ? nil : bought + Double(digest % 3),
        revoked: digest % 3 == 0 ? bought + 0.5 : nil, isUpgraded: digest % 4 == 0, signed: signed, digest: digest))
  }

  /// Merges piece by piece. Until the first transaction, there is no purchase to merge into.
  private func merged(_ evidence: [Evidence]) -> Purchase? {
    var purchase: Purchase?
    for (index, piece) in evidence.enumerated() {
      if purchase?.merge(piece) == nil { purchase = Purchase(key, folding: evidence[...index]) }
    }
    return purchase
  }

  private func permutations<Element>(of elements: [Element]) -> [[Element]] {
    guard !elements.isEmpty else { return [[]] }
    return elements.indices.flatMap { index in
      var rest = elements
      let first = rest.remove(at: index)
      return permutations(of: rest).map { [first] + $0 }
    }
  }

  @Test(arguments: UInt64(1)...40)
  func `every order of a few pieces gives the same purchase`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let pieces = (0..<5).map { _ in piece(&random) }
    let expected = Purchase(key, folding: pieces)
    for order in permutations(of: pieces) {
      #expect(Purchase(key, folding: order) == expected)
      #expect(merged(order) == expected)
    }
  }

  @Test(arguments: UInt64(1)...40)
  func `many pieces give the same purchase in any order, with repetitions`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let pieces = (0..<30).map { _ in piece(&random) }
    let expected = Purchase(key, folding: pieces)
    for _ in 0..<20 {
      let repeated = pieces + (0..<30).compactMap { _ in pieces.randomElement(using: &random) }
      #expect(merged(repeated.shuffled(using: &random)) == expected)
    }
  }

  /// The same fold, written as a search.
  @Test(arguments: UInt64(1)...40)
  func `the newest of each kind counts`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let pieces = [evidence(TestPurchases.transaction())] + (0..<20).map { _ in piece(&random) }
    let purchase = try #require(Purchase(key, folding: pieces))
    let newest = pieces.sorted { ($0.signedDate, $0.payloadSHA256[0]) < ($1.signedDate, $1.payloadSHA256[0]) }
    var transactions: [TransactionId: TransactionFacts] = [:]
    for case .transaction(let facts) in newest.map(\.facts) { transactions[facts.transactionId] = facts }
    #expect(purchase.transactions == transactions)
    let renewals = newest.compactMap { if case .renewalInfo(let facts, _) = $0.facts { facts } else { nil } }
    #expect(purchase.renewal == renewals.last)
    let statuses = newest.compactMap { if case .renewalInfo(_, let status) = $0.facts { status } else { nil } }
    #expect(purchase.status == statuses.max { ($0.date, $0.code) < ($1.date, $1.code) })
    #expect(transactions[purchase.deciding.transactionId] == purchase.deciding)
  }

  // MARK: One piece

  @Test func `merging tells whether anything changed`() {
    var purchase = TestPurchases.purchase(TestPurchases.transaction(signed: 1, digest: 5))
    let before = purchase
    let stale = [
      TestPurchases.transaction(signed: 1, digest: 5), TestPurchases.transaction(revoked: 0, signed: 0, digest: 9),
      TestPurchases.transaction(revoked: 0, signed: 1, digest: 4),
    ].map { purchase.merge(evidence($0)) }
    #expect(stale == [false, false, false])
    #expect(purchase == before)
    let isRevoked = [
      TestPurchases.transaction(revoked: 0, signed: 1, digest: 6), TestPurchases.transaction(signed: 2),
      TestPurchases.transaction("2", revoked: 0, signed: 0),
    ].map { facts -> Bool? in purchase.merge(evidence(facts)) ? purchase.deciding.revocationDate != nil : nil }
    #expect(isRevoked == [true, false, true])
    #expect(purchase.transactions.count == 2)
  }

  @Test func `the status has a date of its own`() {
    var purchase = TestPurchases.purchase(TestPurchases.transaction())
    func merge(_ signed: Double, willRenew: Bool, status: Int32?) -> Bool {
      purchase.merge(evidence(TestPurchases.renewal(willRenew: willRenew, signed: signed), status: status))
    }
    func status(_ code: Int32, _ day: Double) -> ReportedStatus {
      ReportedStatus(code: code, date: TestPurchases.at(day))
    }
    var isChanged = merge(2, willRenew: true, status: 5)
    #expect(isChanged && purchase.status == status(5, 2))
    // Renewal info without a status leaves the status as it was.
    isChanged = merge(3, willRenew: false, status: nil)
    #expect(isChanged && purchase.renewal?.willRenew == false && purchase.status == status(5, 2))
    // An older renewal info can bring the newest status.
    isChanged = merge(2.5, willRenew: true, status: 1)
    #expect(isChanged && purchase.renewal?.willRenew == false && purchase.status == status(1, 2.5))
    // On equal dates the one counts that takes away more.
    isChanged = merge(2.5, willRenew: true, status: 5)
    #expect(isChanged && purchase.status == status(5, 2.5))
    isChanged = merge(2.5, willRenew: true, status: 2)
    #expect(!isChanged && purchase.status == status(5, 2.5))
  }

  @Test func `evidence of another purchase changes nothing`() {
    var purchase = TestPurchases.purchase(TestPurchases.transaction())
    let before = purchase
    let others = [
      evidence(TestPurchases.transaction(of: "9", signed: 5)), evidence(TestPurchases.renewal(of: "9", signed: 5)),
      evidence(TestPurchases.transaction(in: "Sandbox", signed: 5)),
      evidence(TestPurchases.renewal(in: "Sandbox", signed: 5), status: 5),
    ]
    let changes = others.map { purchase.merge($0) }
    #expect(changes == [false, false, false, false])
    #expect(purchase == before)
    for other in others { #expect(Purchase(key, folding: [other]) == nil) }
  }

  @Test func `renewal info alone makes no purchase`() {
    #expect(Purchase(key, folding: [evidence(TestPurchases.renewal(signed: 1))]) == nil)
    #expect(Purchase(key, transactions: []) == nil)
    let both = [evidence(TestPurchases.renewal(signed: 1)), evidence(TestPurchases.transaction())]
    #expect(Purchase(key, folding: both)?.renewal != nil)
  }

  @Test func `owner and version are no part of the fold`() {
    var purchase = TestPurchases.purchase(TestPurchases.transaction(), owner: "a", version: 3)
    purchase.merge(evidence(TestPurchases.transaction("2", bought: 1, token: "x")))
    #expect(purchase.transactions.count == 2)
    #expect(purchase.owner == Owner(customerId: "a", subscriptionId: 1))
    #expect(purchase.version == 3)
  }
}
