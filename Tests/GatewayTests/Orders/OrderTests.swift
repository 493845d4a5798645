import AppleCalls
import Crypto
import Domain
import DomainSupport
import Testing

@testable import Gateway

/// Answers about orders, by value.
struct OrderTests {
  private typealias Given = AnsweredPurchases

  private func text(_ order: Order) -> String {
    String(decoding: order.json(Given.publisher(), now: Given.now), as: UTF8.self)
  }

  @Test func `an order says of each transaction whether it is known`() {
    let known = Given.transaction()
    var strange = Given.transaction("900", of: "900", "coins", .consumable, expires: nil)
    strange.revocationDate = Given.now - Given.day
    strange.revocationType = "REFUND_FULL"
    let purchase = Given.purchase(known, renewal: Given.renewal())
    let order = Order(
      id: "MK5TTTVWJH", app: "com.example", transactions: [known, strange], purchases: [purchase.key: purchase])
    let document =
      #"{"access":{"accessGranted":true,"billingProblem":false,"expiresAt":"2026-12-12T10:00:00.000Z","#
      + #""offerId":"S1","rule":"subscriptionActive","willRenew":true},"bundleId":"com.example","#
      + #""cleengCustomerId":42,"customerId":"42","#
    let all = text(order)
    #expect(all.hasPrefix(#"{"asOf":"2026-11-22T10:00:00.000Z","bundleId":"com.example","orderId":"MK5TTTVWJH","#))
    #expect(
      all.contains(
        #""transactions":[{"environment":"Production","expiresDate":"2026-12-12T10:00:00.000Z","isKnown":true,"#
          + #""originalTransactionId":"100","productId":"monthly","purchase":"# + document), "\(all)")
    #expect(
      all.hasSuffix(
        #"{"environment":"Production","isKnown":false,"originalTransactionId":"900","productId":"coins","#
          + #""purchaseDate":"2026-11-12T10:00:00.000Z","revocationDate":"2026-11-21T10:00:00.000Z","#
          + #""revocationType":"REFUND_FULL","transactionId":"900","type":"Consumable"}]}"#), "\(all)")
  }

  @Test func `an order without purchases, and each purchase once`() {
    #expect(
      text(Order(id: "M1", app: "a", transactions: [], purchases: [:]))
        == #"{"asOf":"2026-11-22T10:00:00.000Z","bundleId":"a","orderId":"M1","transactions":[]}"#)
    let transactions = [Given.transaction("101"), Given.transaction("102"), Given.transaction("900", of: "900")]
    #expect(transactions.purchases(of: 7).map(\.originalTransactionId) == ["100", "900"])
  }

  @Test func `each obstacle has its answer`() throws {
    let app = Publisher.App(
      bundleId: "com.example", appAppleId: nil, issuerId: "i", keyId: "k", privateKey: try .generate(),
      environments: [.production])
    let unknown = Problem.order(.unknown, in: [app])
    #expect(unknown.status == 404 && unknown.code == "ORD0001" && unknown.retryAfter == nil)
    #expect(Problem.order(.unknown, in: []).detail != unknown.detail)
    let busy = Problem.order(.failed(.busy(.milliseconds(1200))), in: [app])
    #expect(busy.status == 429 && busy.code == "LIM0011" && busy.retryAfter == 2)
    let obstacles: [AppleObstacle] = [.away("com.example"), .keyRefused("com.example"), .unverified("com.example")]
    var details: Set<String> = []
    for obstacle in obstacles {
      let problem = Problem.order(.failed(obstacle), in: [app])
      #expect(problem.status == 503 && problem.code == "ORD0002" && problem.retryAfter == 5)
      details.insert(try #require(problem.detail))
    }
    #expect(details.count == 3 && details.allSatisfy { $0.contains("com.example") })
  }
}
