import Domain
import DomainSupport
import Testing

/// The three ends of a transfer of a known purchase.
struct TransferDecisionTests {
  private func decide(owner: CustomerId?, givesAccess: Bool) -> TransferDecision {
    let purchase = TestPurchases.purchase(TestPurchases.transaction(), owner: owner)
    return .decide(purchase, to: "me", givesAccess: givesAccess)
  }

  @Test func `only an active purchase moves`() {
    for owner: CustomerId? in ["other", nil] {
      #expect(decide(owner: owner, givesAccess: true) == .transferred)
      #expect(decide(owner: owner, givesAccess: false) == .notActive)
    }
  }

  @Test(arguments: [true, false])
  func `a transfer to the owner changes nothing`(givesAccess: Bool) {
    #expect(decide(owner: "me", givesAccess: givesAccess) == .unchanged)
  }

  @Test func `each end has a documented result`() {
    let ends: [TransferDecision] = [.transferred, .unchanged, .notActive]
    #expect(
      ends.map(\.code.rawValue) == [
        "PURCHASE_OWNERSHIP_TRANSFERRED", "PURCHASE_OWNERSHIP_UNCHANGED", "PURCHASE_NOT_ACTIVE",
      ])
    #expect(ResultCode.purchaseNotFound.rawValue == "PURCHASE_NOT_FOUND")
    #expect(ResultCode.ownershipNotProven.rawValue == "OWNERSHIP_NOT_PROVEN")
    #expect(ResultCode.ofOwnership == [.ownershipNotProven] + ends.map(\.code) + [.purchaseNotFound])
  }
}
