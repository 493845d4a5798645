import Domain
import DomainSupport
import Formats
import Testing

/// Access while Apple is away: who gets it, and how Apple's answer ends it.
struct CommitProvisionTests {
  private let active = TestPurchases.transaction(expires: 30)
  private let key = TestPurchases.key()
  private let until = TestPurchases.at(11)

  private func piece(_ facts: TransactionFacts) -> Evidence { TestPurchases.evidence(.transaction(facts)) }

  private func grant(
    _ commit: inout TestCommit, _ job: Job? = nil, _ facts: TransactionFacts? = nil
  ) -> Bool {
    commit.state.grantProvisionally(
      job ?? TestCommit.job(proves: key), piece(facts ?? active), until: until, publisher: commit.publisher!)
  }

  private func access(_ commit: TestCommit, at days: Double = 10) -> Access? {
    commit[purchase: key].map {
      Access.of($0, rules: AccessRules(offers: TestCommit.offers, allowsSandbox: false), now: TestPurchases.at(days))
    }
  }

  @Test func `verified evidence gives access until Apple answers, for a time`() {
    var commit = TestCommit()
    #expect(grant(&commit))
    #expect(commit[purchase: key]?.owner?.customerId == "me")
    let given = access(commit)
    #expect(given?.isGranted == true)
    #expect(given?.rule == .provisional)
    #expect(given?.expiresAt == until)
    #expect(access(commit, at: 11)?.rule == .unconfirmed)
    #expect(access(commit, at: 11)?.isGranted == false)
    #expect(commit["me"].told.first?.provisional == true)
    #expect(commit.state.changes.events.map(\.topic) == [EventTopic.entitlementsChanged])
    #expect(commit.state.changes.newPurchases == [key])
    #expect(commit.state.changes.evidence.count == 1)
    // Nothing is finalized.
    #expect(commit.state.changes.synchronizations.isEmpty)
  }

  @Test func `what follows the purchase's owner is written, too`() {
    typealias T = TestPurchases
    var (middle, last) = (active, T.transaction("5", of: "5", .autoRenewable, "yearly", bought: 5, expires: 370))
    (middle.previousOriginalTransactionId, last.previousOriginalTransactionId) = ("0", "1")
    var commit = TestCommit(
      [T.purchase(T.transaction("0", of: "0", expires: 9), owner: "me"), T.purchase(last)],
      ["me": CustomerRecord(isKnown: true, version: 1, told: [])])
    #expect(grant(&commit, nil, middle))
    #expect(commit.state.changes.begunOwnerships.count == 2)
    #expect(commit[purchase: T.key("5")]?.owner?.customerId == "me")
    #expect(commit.state.changes.changedPurchases.union(commit.state.changes.newPurchases).contains(T.key("5")))
  }

  @Test func `Apple's evidence confirms it`() {
    var commit = TestCommit()
    #expect(grant(&commit))
    let done = commit.evidence(TestCommit.job(), TestPurchases.transaction(expires: 30, signed: 10, digest: 2))
    #expect(done.code == .purchaseSynchronized)
    #expect(commit[purchase: key]?.provisionalUntil == nil)
    #expect(access(commit)?.rule == .subscriptionActive)
    #expect(commit["me"].told.first?.provisional == nil)
  }

  @Test func `the same evidence from Apple confirms it, too`() {
    var commit = TestCommit()
    #expect(grant(&commit))
    let done = commit.evidence(TestCommit.job(), active)
    #expect(done.code == .purchaseSynchronized)
    #expect(access(commit)?.rule == .subscriptionActive)
    #expect(done.version == 2)
  }

  @Test(arguments: [ResultCode.transactionIdNotFound, .verificationFailed, .appMismatch])
  func `Apple's denial withdraws it`(result: ResultCode) {
    var commit = TestCommit()
    #expect(grant(&commit))
    let done = commit.finalize(TestCommit.job(), .noEvidence(result))
    #expect(done.code == result)
    #expect(done.result?.accessGranted == false)
    #expect(access(commit)?.rule == .unconfirmed)
    #expect(done.changes.last?.after == false)
    // And nobody gives it again before Apple has answered otherwise.
    #expect(!grant(&commit))
  }

  @Test func `a run that gave up withdraws nothing`() {
    var commit = TestCommit()
    #expect(grant(&commit))
    let done = commit.finalize(TestCommit.job(), .noEvidence(.internalError))
    #expect(done.code == .internalError)
    #expect(access(commit)?.rule == .provisional)
  }

  @Test func `it is given once`() {
    var commit = TestCommit()
    #expect(grant(&commit))
    #expect(!grant(&commit, nil, TestPurchases.transaction(expires: 40, signed: 9, digest: 9)))
    #expect(commit[purchase: key]?.provisionalUntil == until)
  }

  @Test func `a purchase that gives access needs no provision`() {
    var commit = TestCommit([TestPurchases.purchase(active, owner: "me", version: 4)])
    #expect(!grant(&commit, nil, TestPurchases.transaction(expires: 40, signed: 9, digest: 9)))
    #expect(commit.state.changes.changedPurchases.isEmpty)
  }

  @Test func `a lapsed purchase gets it for its renewal`() {
    var commit = TestCommit([
      TestPurchases.purchase(TestPurchases.transaction(expires: 5), owner: "me", version: 4)
    ])
    #expect(grant(&commit, nil, TestPurchases.transaction("2", bought: 9, expires: 40)))
    #expect(access(commit)?.rule == .provisional)
    #expect(commit.state.changes.changedPurchases == [key])
  }

  /// Each of them leaves everything as it was.
  @Test func `nobody else gets it`() {
    let signed = TestCommit.job(proves: key)
    let refusals: [(String, TestCommit, Job, TransactionFacts)] = [
      (
        "of another customer",
        TestCommit([TestPurchases.purchase(TestPurchases.transaction(expires: 5), owner: "you")]),
        signed, TestPurchases.transaction("2", bought: 9, expires: 40)
      ),
      ("revoked", TestCommit(), signed, TestPurchases.transaction(expires: 30, revoked: 9)),
      (
        "refunded, as Apple said",
        TestCommit([
          TestPurchases.purchase(TestPurchases.transaction(expires: 30, revoked: 9, signed: 9), owner: "me")
        ]), signed, active
      ),
      ("expired", TestCommit(), signed, TestPurchases.transaction(expires: 9)),
      ("consumable", TestCommit(), signed, TestPurchases.transaction("1", of: "1", .consumable, "coins")),
      ("without an offer", TestCommit(), signed, TestPurchases.transaction("1", of: "1", .nonConsumable, "other")),
      ("of the sandbox", TestCommit(), signed, TestPurchases.transaction(in: "Sandbox", expires: 30)),
      (
        "of nobody", TestCommit(),
        Job(
          synchronizationId: "s", publisherId: 7, customerId: "", transactionId: "1", signedPurchase: key,
          door: Door("app", asker: .app), registeredAt: 0), active
      ),
      (
        "for another offer", TestCommit(),
        Job(
          synchronizationId: "s", publisherId: 7, customerId: "me", transactionId: "1", signedPurchase: key,
          door: Door("shop", asker: .publisher), requestedOfferId: "L1", registeredAt: 0), active
      ),
      ("not proven", TestCommit(ownership: OwnershipPolicy(proof: .signedTransaction)), TestCommit.job(), active),
    ]
    for (what, commit, job, facts) in refusals {
      var commit = commit
      let before = commit.state
      #expect(!grant(&commit, job, facts), "\(what)")
      #expect(commit.state.purchases == before.purchases, "\(what)")
      #expect(commit.state.changes.events.isEmpty && commit.state.changes.evidence.isEmpty, "\(what)")
      #expect(commit.state.subscriptionIds == before.subscriptionIds, "\(what)")
    }
  }

  @Test func `an erased customer gets nothing`() {
    var commit = TestCommit([], ["me": CustomerRecord(erasedAt: TestPurchases.at(9.5))])
    #expect(!grant(&commit))
  }
}
