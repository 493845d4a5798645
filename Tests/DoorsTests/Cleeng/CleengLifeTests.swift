import Domain
import DomainSupport
import JSON
import Testing

@testable import Doors

/// What Cleeng's receivers hear of a subscription that lives on without a registration.
struct CleengLifeTests {
  private typealias T = TestPurchases

  private func topics(_ before: Purchase, _ after: Purchase) -> [EventTopic] {
    CleengLab.events(before, after).map(\.topic)
  }

  private func known(_ facts: TransactionFacts..., at days: Double) -> Purchase {
    var purchase = facts.count == 2 ? T.purchase(facts[0], facts[1], owner: "42") : T.purchase(facts[0], owner: "42")
    purchase.updatedAt = T.at(days)
    return purchase
  }

  // The laboratory's clock stands at day 10.

  @Test func `a subscription that ended by the clock is terminated`() {
    let purchase = known(T.transaction(expires: 9), at: 5)
    #expect(topics(purchase, purchase) == ["subscriptionTerminated"])
  }

  @Test func `a refund terminates it, and a repeated look does not tell it again`() {
    let refunded = known(T.transaction(expires: 30, revoked: 9), at: 9.5)
    #expect(topics(known(T.transaction(expires: 30), at: 5), refunded) == ["subscriptionTerminated"])
    #expect(topics(refunded, refunded).isEmpty)
  }

  @Test func `a renewal tells nothing, and a new beginning is created`() {
    let next = T.transaction("2", bought: 9.5, expires: 39)
    let running = known(T.transaction(expires: 9.7), at: 5)
    let ended = known(T.transaction(expires: 9), at: 9.2)
    #expect(topics(running, known(T.transaction(expires: 9.7), next, at: 10)).isEmpty)
    #expect(topics(ended, known(T.transaction(expires: 9), next, at: 10)) == ["subscriptionCreated"])
  }
}
