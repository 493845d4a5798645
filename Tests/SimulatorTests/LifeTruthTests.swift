import AppStore
import Crypto
import Domain
import Formats
import FoundationEssentials
import JSON
import Testing

@testable import Simulator

/// The simulator's own word about a life is what Apple's signed data says: the domain decides the same from it.
struct LifeTruthTests {
  private let rules = AccessRules(
    offers: OfferCatalog([
      Offer(id: "S", productIds: ["com.example.app.monthly", "com.example.app.yearly", "com.example.app.weekly"])
    ]), allowsSandbox: true)

  /// Random lives. Everything that Apple ever signed about each of them comes in random order.
  @Test(arguments: Array(1...40) + [202, 1214, 1907, 2076, 2554, 2880])
  func signedDataSaysTheSame(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var given = GivenLife {
      $0.grace = random.chance(0.5) ? GivenLife.scale.days(16) : 0
      $0.isFamilyShared = random.chance(0.3)
      $0.autoRenews = random.chance(0.9)
    }
    var evidence = try pieces(&given)
    for _ in 0..<30 {
      given.passes(random.below(40_000))
      // What does not fit is refused, and changes nothing.
      _ = try? given.does(action(&random))
      evidence += try pieces(&given)
    }
    let key = PurchaseKey(publisherId: 1, environment: "Production", originalTransactionId: "\(given.life.id)")
    let purchase = try #require(Purchase(key, folding: evidence.shuffled(using: &random)))
    let access = Access.of(purchase, rules: rules, now: given.now)
    let truth = given.life.access(at: given.now)
    #expect(access.isGranted == truth.isGiven, "\(given.life.state) \(access)")
    if truth.isGiven {
      #expect(access.expiresAt == truth.until)
      #expect(access.willRenew == given.life.willRenew)
    }
    #expect(Set(purchase.transactions.keys.map(\.text)) == Set(given.life.transactions.map(\.id)))
  }

  private func action(_ random: inout SeededRandom) -> LifeAction {
    switch random.below(17) {
    case 0, 1: .renew(period: nil)
    case 2: .fail(grace: nil, isAtEnd: false)
    case 3: .fail(grace: random.chance(0.5), isAtEnd: random.chance(0.5))
    case 4, 5: .recover
    case 6: .endGrace
    case 7: .expire(.other, isAtEnd: random.chance(0.5))
    case 8: .upgrade(LifeUpgrade(product: random.chance(0.5) ? "yearly" : "weekly", period: 50_000))
    case 9: .downgrade(product: "weekly", period: 20_000)
    case 10: .refund(transactionId: nil, percentage: random.chance(0.5) ? 100_000 : 30_000, reason: 0)
    case 11: .reverse(transactionId: nil)
    case 12: .revoke
    case 13: .extend(days: 5)
    case 14: .setRenewal(random.chance(0.7))
    case 15: .upgrade(LifeUpgrade(product: "yearly", isSeparate: random.chance(0.2)))
    default: .increasePrice(nil, isAccepted: random.chance(0.5))
    }
  }

  /// What Apple signs about the life at present.
  private func pieces(_ given: inout GivenLife) throws -> [Evidence] {
    let date = given.life.signingDate(at: given.now)
    var pieces: [Evidence] = []
    for transaction in given.life.transactions {
      let json = given.life.payload(transaction, signedAt: date).json
      let facts = try TransactionFacts(
        AppStore.TransactionPayload(JSONText(json)), payloadSHA256: SHA256.hash(json))
      pieces.append(
        Evidence(.transaction(facts), source: .serverAPI, signedHeader: [], payload: json, signature: []))
    }
    guard let renewal = given.life.renewalPayload(signedAt: date) else { return pieces }
    let json = Array(try JSONEncoder().encode(renewal))
    let facts = try RenewalFacts(
      JSONText(json).decoded(as: RenewalInfoPayload.self), payloadSHA256: SHA256.hash(json))
    let status = ReportedStatus(code: Int32(given.life.state.status.rawValue), date: date)
    pieces.append(
      Evidence(
        .renewalInfo(facts, status: status), source: .serverAPI, signedHeader: [], payload: json, signature: []))
    return pieces
  }
}

extension SeededRandom {
  fileprivate mutating func below(_ limit: Int64) -> Int64 { Int64.random(in: 0..<limit, using: &self) }
  fileprivate mutating func chance(_ part: Double) -> Bool { Double.random(in: 0..<1, using: &self) < part }
}
