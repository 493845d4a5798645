import DomainSupport
import Testing

@testable import Domain

/// What a finalized synchronization says later.
struct SynchronizationPresentTests {
  private typealias T = TestPurchases

  private static let publisher = Publisher(
    id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: TestCommit.offers, webhooks: [])

  private func kept(
    _ result: ResultCode = .purchaseSynchronized, granted: Bool = true, customer: CustomerId = "me",
    status: Synchronization.Status = .finalized
  ) -> Synchronization {
    let result = SynchronizationResult(
      result, accessGranted: granted, offerId: granted ? "S1" : nil, originalTransactionId: "1",
      environment: "Production")
    return Synchronization(
      id: "s1", publisherId: 7, customerId: customer, transactionId: "1", status: status,
      result: status == .finalized ? result : nil, version: 1, finalizedAt: T.at(1))
  }

  private func purchase(_ owner: CustomerId?, expires: Double = 30, revoked: Double? = nil) -> Purchase {
    T.purchase(T.transaction(expires: expires, revoked: revoked), owner: owner)
  }

  private func present(_ kept: Synchronization, _ purchase: Purchase?, at days: Double = 10) -> SynchronizationResult? {
    kept.atPresent(purchase, Self.publisher, now: T.at(days)).result
  }

  @Test func `the owner's access is that of now`() {
    #expect(present(kept(), purchase("me"))?.accessGranted == true)
    #expect(present(kept(), purchase("me"))?.offerId == "S1")
    for (purchase, days) in [(purchase("me"), 31.0), (purchase("me", revoked: 5), 10), (nil, 10)] {
      let result = present(kept(), purchase, at: days)
      #expect(result?.accessGranted == false && result?.offerId == nil)
      // What was told stays.
      #expect(result?.code == .purchaseSynchronized && result?.originalTransactionId == "1")
    }
    // The customer owns it still. It may renew, and then the same answer gives access again.
    #expect(kept().holds(purchase("me", expires: 5)) && kept().holds(purchase("me", revoked: 5)))
  }

  @Test func `a released or transferred purchase gives its former owner nothing`() {
    for owner: CustomerId? in [nil, "you"] {
      #expect(present(kept(), purchase(owner))?.accessGranted == false)
      #expect(!kept().holds(purchase(owner)))
      #expect(!kept(.purchaseOwnershipTransferred).holds(purchase(owner)))
    }
    #expect(!kept().holds(nil))
    // U+212A (KELVIN SIGN) equals `K` as a Swift `String`.
    #expect(!kept(customer: "K").holds(purchase("\u{212A}")))
  }

  @Test func `goods are handed out while the purchase gives access`() {
    var coins = kept()
    coins.result?.consumable = ConsumableGrant(productId: "coins", quantity: 2, isFirstGrant: true)
    let bought = T.transaction("1", .consumable, "coins")
    #expect(present(coins, T.purchase(bought, owner: "me"))?.consumable?.isFirstGrant == true)
    let refunded = T.purchase(T.transaction("1", .consumable, "coins", revoked: 2), owner: "me")
    for purchase in [refunded, T.purchase(bought, owner: "you"), T.purchase(bought)] {
      #expect(
        present(coins, purchase)?.consumable == ConsumableGrant(productId: "coins", quantity: 2, isFirstGrant: false))
    }
  }

  @Test func `an erased customer has no results`() {
    for customer: CustomerId in ["erased:6f2a", "erased:"] {
      #expect(!kept(customer: customer).holds(purchase(nil)))
      #expect(!kept(.transactionIdNotFound, granted: false, customer: customer).holds(nil))
      #expect(!kept(customer: customer, status: .retrying).holds(nil))
      #expect(present(kept(customer: customer), purchase("me"))?.accessGranted == false)
    }
    #expect(!kept(.customerErased, granted: false).holds(nil))
  }

  @Test func `what gave nothing stays as it is, and asks for no purchase`() {
    let refused = kept(.purchaseOwnedByAnotherCustomer, granted: false)
    #expect(refused.givingPurchase == nil && refused.holds(nil))
    #expect(refused.atPresent(purchase("me"), Self.publisher, now: T.at(10)) == refused)
    let waiting = kept(status: .retrying)
    #expect(waiting.givingPurchase == nil && waiting.holds(nil))
    #expect(waiting.atPresent(nil, Self.publisher, now: T.at(10)) == waiting)
    #expect(kept().givingPurchase == T.key())
  }
}
