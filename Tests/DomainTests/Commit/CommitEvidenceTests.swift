import Domain
import DomainSupport
import Formats
import Testing

/// What a commit does with evidence, and when the version of a purchase rises.
struct CommitEvidenceTests {
  private let key = TestPurchases.key()
  private let active = TestPurchases.transaction(expires: 30)

  @Test func `the evidence of a purchase counts for more than not found`() {
    var commit = TestCommit([TestPurchases.purchase(active, version: 3)])
    let done = commit.finalize(.noEvidence(.transactionIdNotFound))
    #expect(done.code == .purchaseSynchronized)
    #expect(commit[purchase: key]?.owner?.customerId == "me")
  }

  @Test(arguments: [ResultCode.internalError, .verificationFailed, .appMismatch])
  func `no evidence overrules`(result: ResultCode) {
    var commit = TestCommit([TestPurchases.purchase(active, version: 3)])
    let done = commit.finalize(.noEvidence(result))
    #expect(done.result == SynchronizationResult(result, originalTransactionId: "1", environment: "Production"))
    #expect(done.version == 3)
    #expect(commit[purchase: key]?.owner == nil)
  }

  @Test(arguments: [ResultCode.internalError, .transactionIdNotFound, .verificationFailed])
  func `without a purchase the run's result stays`(result: ResultCode) {
    var commit = TestCommit()
    let done = commit.finalize(.noEvidence(result))
    #expect(done.result == SynchronizationResult(result) && done.version == 0)
    #expect(done.events.count == 1)
    #expect(commit.state.changes.synchronizations == [done.synchronization])
  }

  @Test func `a covered run needs its purchase`() {
    var commit = TestCommit()
    #expect(commit.finalize(.known(key)).code == .internalError)
  }

  @Test func `stale evidence keeps the newer refund`() {
    let refunded = TestPurchases.transaction(expires: 30, revoked: 3, signed: 3, digest: 1)
    var commit = TestCommit([TestPurchases.purchase(refunded, owner: "me", version: 4)])
    let done = commit.evidence(TestCommit.job(), active)
    #expect(done.code == .purchaseRevoked)
    #expect(done.version == 4)
    // The ledger keeps the older piece, but the purchase stays as it is.
    #expect(commit.state.changes.evidence.count == 1)
    #expect(commit.state.changes.changedPurchases.isEmpty && commit.state.changes.transactions.isEmpty)
  }

  @Test func `a piece that is held is not written again`() {
    let renewal = TestPurchases.renewal(signed: 1, digest: 5)
    let status = ReportedStatus(code: 1, date: renewal.signedDate)
    var commit = TestCommit([TestPurchases.purchase(active, renewal: renewal, status: status, owner: "me", version: 4)])
    let pieces = [
      TestPurchases.evidence(.transaction(active)), TestPurchases.evidence(.renewalInfo(renewal, status: status)),
      TestPurchases.evidence(.renewalInfo(renewal, status: nil)),
    ]
    #expect(commit.finalize(.evidence(key, pieces)).version == 4)
    #expect(commit.state.changes.evidence.isEmpty && commit.state.changes.changedPurchases.isEmpty)
  }

  @Test func `a new status beside the same renewal info is news`() {
    let renewal = TestPurchases.renewal(signed: 1, digest: 5)
    let (active, revoked) = (
      ReportedStatus(code: 1, date: renewal.signedDate), ReportedStatus(code: 5, date: renewal.signedDate)
    )
    var commit = TestCommit([
      TestPurchases.purchase(self.active, renewal: renewal, status: active, owner: "me", version: 4)
    ])
    let done = commit.finalize(.evidence(key, [TestPurchases.evidence(.renewalInfo(renewal, status: revoked))]))
    #expect(done.code == .purchaseRevoked && done.version == 5)
    #expect(commit.state.changes.evidence.count == 1)
    // And never back: Apple's lesser status of the same date came late.
    let late = commit.finalize(.evidence(key, [TestPurchases.evidence(.renewalInfo(renewal, status: active))]))
    #expect(late.code == .purchaseRevoked && late.version == 5)
  }

  @Test func `a renewal info alone makes no purchase and is not kept`() {
    var commit = TestCommit()
    let piece = TestPurchases.evidence(.renewalInfo(TestPurchases.renewal(signed: 1), status: nil))
    #expect(commit.finalize(.evidence(key, [piece])).code == .internalError)
    #expect(commit.state.changes.evidence.isEmpty && commit.state.changes.newPurchases.isEmpty)
  }

  @Test func `a piece about another purchase is not kept`() {
    var commit = TestCommit()
    let other = TestPurchases.transaction("9", of: "9", expires: 30)
    let pieces = [active, other].map { TestPurchases.evidence(.transaction($0)) }
    #expect(commit.finalize(.evidence(key, pieces)).version == 1)
    #expect(commit.state.changes.evidence.map(\.piece) == [pieces[0]])
    #expect(commit[purchase: key]?.transactions.count == 1)
  }

  @Test func `the version rises with each news and each owner, and never else`() {
    var commit = TestCommit(ownership: OwnershipPolicy(restore: .transfer))
    #expect(commit.evidence(TestCommit.job(), active).version == 1)
    #expect(commit.evidence(TestCommit.job(id: "s2"), active).version == 1)
    #expect(commit.finalize(TestCommit.job(id: "s3"), .known(key)).version == 1)
    #expect(commit.finalize(TestCommit.job(id: "s4"), .noEvidence(.internalError)).version == 1)
    let renewed = TestPurchases.transaction("2", bought: 9, expires: 60)
    #expect(commit.evidence(TestCommit.job("me", "2"), renewed).version == 2)
    #expect(commit.finalize(TestCommit.job("you", id: "s5"), .known(key)).version == 3)
    #expect(commit.finalize(TestCommit.job("you", id: "s6"), .known(key)).version == 3)
  }

  @Test func `without its publisher a commit gives no access and no purchase`() {
    var commit = TestCommit()
    commit.publisher = nil
    #expect(commit.evidence(TestCommit.job(), active).code == .internalError)
    #expect(commit.state.changes.offers.isEmpty && commit.state.changes.begunOwnerships.isEmpty)
    #expect(commit.finalize(TestCommit.job("me", "1", .transfer, id: "s2"), .known(key)).code == .internalError)
    #expect(commit.state.changes.begunOwnerships.isEmpty)
  }

  @Test func `without its publisher a commit takes nothing from the owner`() {
    var commit = TestCommit()
    #expect(commit.evidence(TestCommit.job(), active).changes.count == 1)
    commit.publisher = nil
    // A job that is given up, and news about the purchase.
    #expect(commit.finalize(TestCommit.job(id: "s2"), .noEvidence(.internalError)).changes.isEmpty)
    #expect(
      commit.evidence(TestCommit.job("me", "2", id: "s3"), TestPurchases.transaction("2", bought: 9, expires: 60))
        .changes.isEmpty)
    #expect(commit["me"].told.count == 1)
  }

  // MARK: Consumables

  private let coins = TestPurchases.transaction("1", .consumable, "coins")

  @Test func `the first grant of a consumable is told once`() {
    var commit = TestCommit(ownership: OwnershipPolicy(restore: .transfer))
    let first = commit.evidence(TestCommit.job(), coins)
    #expect(first.result?.consumable == ConsumableGrant(productId: "coins", quantity: 1, isFirstGrant: true))
    #expect(first.changes.isEmpty)
    let again = commit.evidence(TestCommit.job(id: "s2"), coins)
    #expect(again.result?.consumable?.isFirstGrant == false)
    let restored = commit.finalize(TestCommit.job("you", id: "s3"), .known(key))
    #expect(restored.code == .purchaseSynchronized && restored.result?.consumable?.isFirstGrant == false)
    let moved = commit.finalize(TestCommit.job("me", "1", .transfer, id: "s4"), .known(key))
    #expect(moved.code == .purchaseOwnershipTransferred && moved.result?.consumable == nil)
    #expect(commit.state.firstGrants == [key: ["1": TestPurchases.at(10)]])
  }

  @Test func `a grant that the ledger remembers is not the first`() {
    var commit = TestCommit([TestPurchases.purchase(coins, version: 2)], firstGrants: [key: ["1": 5]])
    let done = commit.finalize(.known(key))
    #expect(done.code == .purchaseSynchronized && done.result?.consumable?.isFirstGrant == false)
    #expect(commit.state.firstGrants == [key: ["1": 5]] && commit.state.changes.transactions.isEmpty)
  }

  @Test func `a refused or revoked consumable is not granted`() {
    var commit = TestCommit([TestPurchases.purchase(coins, owner: "you")])
    #expect(commit.finalize(.known(key)).result?.consumable?.isFirstGrant == false)
    let revoked = TestPurchases.transaction("1", .consumable, "coins", revoked: 3, signed: 3, digest: 1)
    #expect(commit.evidence(TestCommit.job("you", id: "s2"), revoked).result?.consumable?.isFirstGrant == false)
    #expect(commit.state.firstGrants.isEmpty)
    // Apple reversed the refund. Nobody was credited before.
    let reversed = TestPurchases.transaction("1", .consumable, "coins", signed: 4, digest: 2)
    #expect(commit.evidence(TestCommit.job("you", id: "s3"), reversed).result?.consumable?.isFirstGrant == true)
    #expect(commit.state.changes.transactions == [key: ["1"]])
  }
}
