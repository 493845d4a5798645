import Domain
import DomainSupport
import Testing

/// The results of registrations and transfers.
struct OutcomeTests {
  private let purchase = TestPurchases.purchase(
    TestPurchases.transaction("5", of: "77", in: "Sandbox", expires: 30))

  private func access(_ rule: AccessRule, isGranted: Bool = false) -> Access {
    Access(isGranted: isGranted, offerId: "S1", environment: "Sandbox", productId: "monthly", rule: rule)
  }

  private func outcome(_ result: SynchronizationResult, offer: String? = nil) -> Outcome {
    Outcome(
      result, accessGranted: offer != nil, offerId: offer, originalTransactionId: "77", environment: "Sandbox")
  }

  private let decisions: [OwnershipDecision] = [
    .keep, .take(.registration), .take(.restore), .refuse(.ownedByAnother), .refuse(.notProven),
  ]

  @Test func `access is for the owner only`() {
    let access = access(.subscriptionActive, isGranted: true)
    let expected = [
      outcome(.purchaseSynchronized, offer: "S1"), outcome(.purchaseSynchronized, offer: "S1"),
      outcome(.purchaseSynchronized, offer: "S1"), outcome(.purchaseOwnedByAnotherCustomer),
      outcome(.ownershipNotProven),
    ]
    #expect(decisions.map { Outcome.of(access, purchase, $0) } == expected)
  }

  @Test func `the reason why there is no access comes first`() {
    let results: [(AccessRule, SynchronizationResult)] = [
      (.sandboxNotAllowed, .sandboxNotAllowed), (.revoked, .purchaseRevoked), (.reportedRevoked, .purchaseRevoked),
      (.offerUnknown, .offerNotFound), (.expired, .receivedExpiredPurchase), (.upgraded, .receivedExpiredPurchase),
      (.billingRetry, .receivedExpiredPurchase),
    ]
    for (rule, result) in results {
      for decision in decisions { #expect(Outcome.of(access(rule), purchase, decision) == outcome(result)) }
    }
  }

  @Test func `a transfer tells what became of the owner`() {
    func transfer(_ decision: TransferDecision, isGranted: Bool) -> Outcome {
      .of(access(.subscriptionActive, isGranted: isGranted), purchase, decision)
    }
    #expect(transfer(.transferred, isGranted: true) == outcome(.purchaseOwnershipTransferred, offer: "S1"))
    #expect(transfer(.unchanged, isGranted: true) == outcome(.purchaseOwnershipUnchanged, offer: "S1"))
    #expect(transfer(.unchanged, isGranted: false) == outcome(.purchaseOwnershipUnchanged))
    #expect(transfer(.notActive, isGranted: false) == outcome(.purchaseNotActive))
  }
}
