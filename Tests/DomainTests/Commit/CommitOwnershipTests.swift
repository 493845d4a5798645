import Domain
import DomainSupport
import Formats
import Testing

/// Who owns a purchase after a commit.
struct CommitOwnershipTests {
  private let active = TestPurchases.transaction(expires: 30)
  private let ended = TestPurchases.transaction(expires: 5)
  private let key = TestPurchases.key()

  @Test func `the first customer becomes the owner`() {
    var commit = TestCommit()
    let done = commit.evidence(TestCommit.job(), active)
    #expect(done.code == .purchaseSynchronized)
    #expect(done.result?.offerId == "S1")
    #expect(done.version == 1)
    #expect(commit[purchase: key]?.owner == Owner(customerId: "me", subscriptionId: 101))
    #expect(
      commit.state.changes.begunOwnerships == [
        CommitState.Ownership(subscriptionId: 101, purchase: key, customerId: "me", cause: .registration)
      ])
    #expect(commit.state.changes.newPurchases == [key])
    #expect(commit.state.changes.offers == [key: "S1"])
    #expect(done.events.map(\.topic) == [EventTopic.synchronizationResult, EventTopic.entitlementsChanged])
    #expect(
      done.events[0].id == Event.id(of: TestCommit.job()) && done.events[0].id == Event.id(of: done.synchronization))
  }

  @Test func `the first customer becomes the owner without access, too`() {
    var commit = TestCommit()
    let done = commit.evidence(TestCommit.job(), ended)
    #expect(done.code == .receivedExpiredPurchase)
    #expect(commit[purchase: key]?.owner?.customerId == "me")
    #expect(done.changes.isEmpty)
    // The lock of the customer's row guards the customer's purchases.
    #expect(commit.state.changes.customers == [TestCommit.customer("me")])
    #expect(commit["me"].version == 0)
  }

  @Test(arguments: [(OwnershipPolicy.Restore.refuse, true), (.refuse, false), (.transferIfInactive, true)])
  func `another customer is refused`(restore: OwnershipPolicy.Restore, isActive: Bool) {
    var commit = TestCommit(
      [TestPurchases.purchase(isActive ? active : ended, owner: "you", version: 4)],
      ownership: OwnershipPolicy(restore: restore))
    let done = commit.finalize(.known(key))
    #expect(done.code == (isActive ? .purchaseOwnedByAnotherCustomer : .receivedExpiredPurchase))
    #expect(done.result?.accessGranted == false)
    #expect(done.result?.originalTransactionId == "1")
    #expect(done.version == 4)
    #expect(commit[purchase: key]?.owner?.customerId == "you")
    #expect(commit.state.changes.begunOwnerships.isEmpty && commit.state.changes.endedOwnerships.isEmpty)
    #expect(commit.state.changes.changedPurchases.isEmpty)
  }

  @Test(arguments: [(OwnershipPolicy.Restore.transfer, true), (.transfer, false), (.transferIfInactive, false)])
  func `a restore moves the purchase`(restore: OwnershipPolicy.Restore, isActive: Bool) {
    var commit = TestCommit(
      [TestPurchases.purchase(isActive ? active : ended, owner: "you", version: 4)],
      ownership: OwnershipPolicy(restore: restore))
    let done = commit.finalize(.known(key))
    #expect(done.code == (isActive ? .purchaseSynchronized : .receivedExpiredPurchase))
    #expect(done.version == 5)
    #expect(commit[purchase: key]?.owner == Owner(customerId: "me", subscriptionId: 101))
    #expect(commit.state.changes.endedOwnerships == [1])
    #expect(commit.state.changes.begunOwnerships.map(\.cause) == [.restore])
    #expect(commit.state.changes.changedPurchases == [key])
  }

  private static let token: AppAccountToken = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

  @Test(arguments: [nil, token]) func `the customer's token proves a purchase`(known: AppAccountToken?) {
    var commit = TestCommit(
      [], ["me": CustomerRecord(isKnown: true, appAccountToken: known)],
      ownership: OwnershipPolicy(proof: .appAccountToken(derivation: nil)))
    let done = commit.evidence(TestCommit.job(), TestPurchases.transaction(expires: 30, token: Self.token))
    #expect(done.code == (known == nil ? .ownershipNotProven : .purchaseSynchronized))
    #expect((commit[purchase: key]?.owner == nil) == (known == nil))
    // Apple's data is kept all the same.
    #expect(commit.state.changes.newPurchases == [key] && done.version == 1)
  }

  /// One of another purchase, for example of the same id in the sandbox, proves nothing.
  @Test(arguments: [TestPurchases.key("1"), TestPurchases.key("2"), TestPurchases.key("1", in: "Sandbox"), nil])
  func `a signed transaction proves its purchase`(signed: PurchaseKey?) {
    let proves = signed == key
    var commit = TestCommit(ownership: OwnershipPolicy(proof: .signedTransaction, restore: .transfer))
    let done = commit.evidence(TestCommit.job(proves: signed), active)
    #expect(done.code == (proves ? .purchaseSynchronized : .ownershipNotProven))
    var other = TestCommit(
      [TestPurchases.purchase(active, owner: "you")],
      ownership: OwnershipPolicy(proof: .signedTransaction, restore: .transfer))
    let moved = other.finalize(TestCommit.job(proves: signed), .known(key))
    #expect(moved.code == (proves ? .purchaseSynchronized : .purchaseOwnedByAnotherCustomer))
  }

  // MARK: Transfers

  @Test(arguments: [nil, "you"]) func `a transfer moves a purchase`(owner: CustomerId?) {
    var commit = TestCommit([TestPurchases.purchase(active, owner: owner, version: 4)])
    let done = commit.finalize(TestCommit.job("me", "1", .transfer), .known(key))
    #expect(done.code == .purchaseOwnershipTransferred)
    #expect(done.synchronization.kind == .transfer)
    #expect(done.result?.accessGranted == true && done.result?.offerId == "S1")
    #expect(done.version == 5)
    #expect(commit[purchase: key]?.owner?.customerId == "me")
    #expect(commit.state.changes.begunOwnerships.map(\.cause) == [.transfer])
    #expect(commit.state.changes.begunOwnerships.map(\.asker) == [.publisher])
    #expect(commit.state.changes.endedOwnerships == (owner == nil ? [] : [1]))
  }

  @Test func `a transfer to the owner changes nothing`() {
    var commit = TestCommit([TestPurchases.purchase(active, owner: "me", version: 4)])
    let done = commit.finalize(TestCommit.job("me", "1", .transfer), .known(key))
    #expect(done.code == .purchaseOwnershipUnchanged)
    #expect(done.version == 4)
    #expect(commit.state.changes.begunOwnerships.isEmpty && commit.state.changes.changedPurchases.isEmpty)
  }

  @Test func `a transfer of a purchase without access is refused`() {
    var commit = TestCommit([TestPurchases.purchase(ended, owner: "you", version: 4)])
    let done = commit.finalize(TestCommit.job("me", "1", .transfer), .known(key))
    #expect(done.code == .purchaseNotActive)
    #expect(commit[purchase: key]?.owner?.customerId == "you" && done.version == 4)
  }

  @Test func `a transfer of an unknown purchase finds nothing`() {
    var commit = TestCommit()
    let done = commit.finalize(TestCommit.job("me", "1", .transfer), .known(nil))
    #expect(done.code == .purchaseNotFound)
    #expect(done.version == 0 && done.result?.originalTransactionId == nil)
  }

  @Test func `a transfer finds the purchase by its transaction, in production first`() {
    let sandbox = TestPurchases.transaction(in: "Sandbox", expires: 30)
    var commit = TestCommit([
      TestPurchases.purchase(sandbox), TestPurchases.purchase(active, TestPurchases.transaction("2", expires: 30)),
    ])
    let done = commit.finalize(TestCommit.job("me", "1", .transfer), .known(nil))
    #expect(done.code == .purchaseOwnershipTransferred && done.result?.environment == "Production")
  }

  // MARK: Erased customers

  @Test(arguments: [8.0, 9, 10]) func `only a registration before the erasure is refused`(erased: Double) {
    var commit = TestCommit([], ["me": CustomerRecord(erasedAt: TestPurchases.at(erased))])
    let done = commit.evidence(TestCommit.job(at: 9), active)
    let isRefused = erased >= 9
    #expect(done.code == (isRefused ? .customerErased : .purchaseSynchronized))
    #expect((commit[purchase: key]?.owner == nil) == isRefused)
    #expect(commit[purchase: key]?.version == 1)
    #expect(done.changes.map(\.version) == (isRefused ? [] : [TestPurchases.at(8) + 1]))
    #expect(commit.state.changes.customers.isEmpty == isRefused)
  }

  @Test func `nothing but the erasure is told of an erased customer`() {
    let basis: [FinalizationRequest.Basis] = [
      .noEvidence(.internalError), .noEvidence(.transactionIdNotFound), .known(nil), .known(key),
    ]
    for basis in basis {
      for kind in Job.Kind.allCases {
        var commit = TestCommit(
          [TestPurchases.purchase(active, owner: "you")], ["me": CustomerRecord(erasedAt: TestPurchases.at(9))])
        #expect(commit.finalize(TestCommit.job("me", "1", kind), basis).code == .customerErased)
        #expect(commit.finalize(TestCommit.job("me", "77", kind), basis).code == .customerErased)
        #expect(commit[purchase: key]?.owner?.customerId == "you")
      }
    }
  }

  @Test func `versions go on after an erasure, because they name events`() {
    var commit = TestCommit([], ["me": CustomerRecord(isKnown: true, version: 0, erasedAt: TestPurchases.at(8))])
    #expect(commit.evidence(TestCommit.job(), ended).changes.isEmpty)
    #expect(commit["me"].version == TestPurchases.at(8))
    #expect(commit.state.changes.customers == [TestCommit.customer("me")])
  }

  // MARK: One batch

  @Test func `two customers register one purchase in one batch`() {
    var commit = TestCommit()
    let second = TestPurchases.transaction("2", bought: 1, expires: 31)
    let one = commit.evidence(TestCommit.job("me", "1"), active)
    let other = commit.evidence(TestCommit.job("you", "2", id: "s2"), second)
    #expect([one.code, other.code] == [.purchaseSynchronized, .purchaseOwnedByAnotherCustomer])
    #expect([one.version, other.version] == [1, 2])
    #expect(commit.state.changes.newPurchases == [key] && commit.state.changes.changedPurchases.isEmpty)
    #expect(commit.state.changes.transactions == [key: ["1", "2"]])
    // The owner's access is longer now.
    #expect(other.changes == [ToldChange("me", 2, "S1", "evidence", true, true)])
  }

  @Test func `an ownership can begin and end in one batch`() {
    var commit = TestCommit(ownership: OwnershipPolicy(restore: .transfer))
    _ = commit.evidence(TestCommit.job("me"), active)
    _ = commit.finalize(TestCommit.job("you", id: "s2"), .known(key))
    #expect(commit.state.changes.begunOwnerships.map(\.subscriptionId) == [101, 102])
    #expect(commit.state.changes.endedOwnerships == [101])
    #expect(commit.state.subscriptionIds.last == 103)
  }
}
