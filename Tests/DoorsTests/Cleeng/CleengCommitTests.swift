import DomainSupport
import Formats
import JSON
import Testing

@testable import Domain
@testable import Doors

/// Whole commits of payments at Cleeng's door: owner, access, events.
struct CleengCommitTests {
  private func commit(_ purchases: [Purchase] = [], _ customers: [CustomerId: CustomerRecord] = [:]) -> TestCommit {
    var commit = TestCommit(purchases, customers)
    commit.publisher = CleengLab.publisher()
    return commit
  }

  private let monthly = TestPurchases.transaction(expires: 30)

  @Test func `an active subscription moves to the customer who pays, in one commit`() {
    let owned = CleengLab.subscription("mia")
    let access = ToldEntitlement(
      offerId: "S1", accessGranted: true, expiresAt: TestPurchases.at(30), environment: "Production")
    var commit = commit([owned], ["mia": CustomerRecord(isKnown: true, version: 3, told: [access])])
    let done = commit.evidence(CleengLab.job(), monthly)
    #expect(done.code == .purchaseSynchronized)
    #expect(commit[purchase: owned.key]?.owner?.customerId == "42")
    #expect(commit.state.changes.endedOwnerships == [1])
    #expect(
      done.changes == [
        ToldChange("mia", 4, "S1", "transfer", true, nil), ToldChange("42", 1, "S1", "transfer", nil, true),
      ])
    #expect(
      done.events.map(\.topic) == [
        "inappPurchaseSyncResult", "entitlementsChanged", "entitlementsChanged", "purchaseUpdated",
        "subscriptionTerminated", "subscriptionCreated", "inappPurchaseValidationSucceeded",
      ])
    #expect(CleengLab[done.events.last, "result"] == .string("SubscriptionTransferred"))
  }

  @Test func `the product decides, and a payment for another offer takes nothing`() {
    var commit = commit()
    let done = commit.evidence(CleengLab.job(offer: "L1"), monthly)
    #expect(done.code == .offerMismatch)
    #expect(commit[purchase: TestPurchases.key()]?.owner == nil)
    #expect(done.events.map(\.topic) == ["inappPurchaseSyncResult", "inappPurchaseValidationFailed"])
    #expect(CleengLab[done.events.last, "result"] == .string("OfferMismatch"))
  }

  @Test func `a coupon is noted, and a renewal keeps it`() {
    var commit = commit()
    _ = commit.evidence(CleengLab.job(coupon: "SUMMER"), monthly)
    #expect(commit[purchase: TestPurchases.key()]?.attributes?.couponCode == "SUMMER")
    let renewal = TestPurchases.transaction("2", of: "1", bought: 9, expires: 60)
    let done = commit.evidence(CleengLab.job("42", "2"), renewal)
    #expect(commit[purchase: TestPurchases.key()]?.attributes?.couponCode == "SUMMER")
    #expect(CleengLab[done.events.last, "couponCode"] == .string("SUMMER"))
  }

  @Test func `Apple's denial is told by the door`() {
    var commit = commit()
    let done = commit.finalize(CleengLab.job("42", "99"), .noEvidence(.transactionIdNotFound))
    #expect(done.events.map(\.topic) == ["inappPurchaseSyncResult", "inappPurchaseValidationFailed"])
  }

  @Test func `our own API refuses what the door moves`() {
    let owned = CleengLab.subscription("mia")
    var commit = commit([owned], ["mia": CustomerRecord(isKnown: true)])
    let done = commit.evidence(CleengLab.job(door: nil, offer: nil), monthly)
    #expect(done.code == .purchaseOwnedByAnotherCustomer)
    #expect(commit[purchase: owned.key]?.owner?.customerId == "mia")
  }
}
