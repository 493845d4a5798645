import Domain
import DomainSupport
import Testing

/// The results of registrations and transfers.
struct SynchronizationResultTests {
  private let purchase = TestPurchases.purchase(
    TestPurchases.transaction("5", of: "77", in: "Sandbox", expires: 30))

  private func access(_ rule: AccessRule, isGranted: Bool = false) -> Access {
    Access(isGranted: isGranted, offerId: "S1", environment: "Sandbox", productId: "monthly", rule: rule)
  }

  private func result(_ code: ResultCode, offer: OfferId? = nil) -> SynchronizationResult {
    SynchronizationResult(
      code, accessGranted: offer != nil, offerId: offer, originalTransactionId: "77", environment: "Sandbox")
  }

  private let decisions: [OwnershipDecision] = [
    .keep, .take(.registration), .take(.restore), .refuse(.ownedByAnother), .refuse(.notProven),
  ]

  @Test func `access is for the owner only`() {
    let access = access(.subscriptionActive, isGranted: true)
    let expected = [
      result(.purchaseSynchronized, offer: "S1"), result(.purchaseSynchronized, offer: "S1"),
      result(.purchaseSynchronized, offer: "S1"), result(.purchaseOwnedByAnotherCustomer),
      result(.ownershipNotProven),
    ]
    #expect(decisions.map { SynchronizationResult.of(access, purchase, $0) } == expected)
  }

  @Test func `the reason why there is no access comes first`() {
    let codes: [(AccessRule, ResultCode)] = [
      (.sandboxNotAllowed, .sandboxNotAllowed), (.revoked, .purchaseRevoked), (.reportedRevoked, .purchaseRevoked),
      (.offerUnknown, .offerNotFound), (.expired, .receivedExpiredPurchase), (.upgraded, .receivedExpiredPurchase),
      (.billingRetry, .receivedExpiredPurchase),
    ]
    for (rule, code) in codes {
      for decision in decisions {
        #expect(SynchronizationResult.of(access(rule), purchase, decision) == result(code))
      }
    }
  }

  @Test func `a transfer tells what became of the owner`() {
    func transfer(_ decision: TransferDecision, isGranted: Bool) -> SynchronizationResult {
      .of(access(.subscriptionActive, isGranted: isGranted), purchase, decision)
    }
    #expect(transfer(.transferred, isGranted: true) == result(.purchaseOwnershipTransferred, offer: "S1"))
    #expect(transfer(.unchanged, isGranted: true) == result(.purchaseOwnershipUnchanged, offer: "S1"))
    #expect(transfer(.unchanged, isGranted: false) == result(.purchaseOwnershipUnchanged))
    #expect(transfer(.notActive, isGranted: false) == result(.purchaseNotActive))
  }
}
