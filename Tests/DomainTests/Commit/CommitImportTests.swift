import Domain
import DomainSupport
import JSON
import Testing

/// What a job of an import does.
struct CommitImportTests {
  private func job(
    _ imported: Job.Import, _ customer: CustomerId = "me", _ transaction: TransactionId = "1",
    id: SynchronizationId = "s1"
  ) -> Job {
    Job(
      synchronizationId: id, publisherId: 7, customerId: customer, transactionId: transaction, lane: .bulk,
      imported: imported, registeredAt: TestPurchases.at(9))
  }

  @Test func `a silent import keeps everything and tells nobody`() {
    var commit = TestCommit(now: 10)
    let facts = TestPurchases.transaction("1", expires: 30)
    let finalized = commit.evidence(job(.silent), facts)
    #expect(finalized.code == .purchaseSynchronized && finalized.result?.accessGranted == true)
    #expect(finalized.events.isEmpty && commit.state.changes.events.isEmpty)
    #expect(commit.state.changes.evidence.count == 1 && commit.state.changes.synchronizations.count == 1)
    #expect(commit[purchase: TestPurchases.key("1")]?.owner?.customerId == "me")
    // What was told stands as told, so that the next news are compared with it.
    #expect(commit["me"].told.map(\.accessGranted) == [true])
    #expect(commit["me"].version == 1)
  }

  @Test func `an import that tells has the events of a registration`() {
    var (one, other) = (TestCommit(now: 10), TestCommit(now: 10))
    let told = one.evidence(job(.told), TestPurchases.transaction("1", expires: 30))
    let registered = other.evidence(TestCommit.job(), TestPurchases.transaction("1", expires: 30))
    #expect(told.events.map(\.topic) == registered.events.map(\.topic) && !told.events.isEmpty)
  }

  @Test(arguments: Job.Import.allCases) func `an owner who stands stays, whatever the publisher's policy`(
    imported: Job.Import
  ) {
    var commit = TestCommit(ownership: OwnershipPolicy(restore: .transfer), now: 10)
    _ = commit.evidence(TestCommit.job("first"), TestPurchases.transaction("1", expires: 30))
    let refused = commit.evidence(job(imported, "second", id: "s2"), TestPurchases.transaction("1", expires: 30))
    #expect(refused.code == .purchaseOwnedByAnotherCustomer)
    #expect(commit[purchase: TestPurchases.key("1")]?.owner?.customerId == "first")
  }

  @Test func `the word of the operator is proof`() {
    var commit = TestCommit(ownership: OwnershipPolicy(proof: .signedTransaction), now: 10)
    _ = commit.evidence(job(.silent), TestPurchases.transaction("1", expires: 30))
    #expect(commit[purchase: TestPurchases.key("1")]?.owner?.customerId == "me")
  }

  @Test func `news of a purchase with an owner are told, without the synchronization`() {
    var commit = TestCommit(now: 10)
    _ = commit.evidence(TestCommit.job(), TestPurchases.transaction("1", expires: 30))
    let revoked = TestPurchases.transaction("1", expires: 30, revoked: 9.5, signed: 10, digest: 1)
    let finalized = commit.evidence(job(.silent, id: "s2"), revoked)
    #expect(finalized.changes.map(\.after) == [false])
    #expect(!finalized.events.contains { $0.topic == EventTopic.synchronizationResult })
  }

  @Test func `a silent import takes the first grant of a consumable`() {
    var commit = TestCommit(now: 10)
    let coins = TestPurchases.transaction("1", .consumable, "coins")
    let silent = commit.evidence(job(.silent), coins)
    #expect(silent.result?.consumable?.isFirstGrant == false && silent.events.isEmpty)
    #expect(commit.state.changes.transactions[TestPurchases.key("1")] == ["1"])
    #expect(commit.evidence(TestCommit.job(id: "s2"), coins).result?.consumable?.isFirstGrant == false)
    // Whoever tells gives it, too.
    var other = TestCommit(now: 10)
    #expect(other.evidence(job(.told), coins).result?.consumable?.isFirstGrant == true)
  }

  @Test func `after a silent import only the result is left to tell`() {
    var commit = TestCommit(now: 10)
    let facts = TestPurchases.transaction("1", expires: 30)
    _ = commit.evidence(job(.silent), facts)
    #expect(commit.evidence(job(.told, id: "s2"), facts).events.map(\.topic) == [EventTopic.synchronizationResult])
  }

  @Test func `its format keeps older workers from it`() throws {
    for imported in Job.Import.allCases {
      let job = job(imported)
      #expect(job.format == 3 && job.defect == nil)
      #expect(try Job(JSONText(job.encoded), doors: DoorCatalog()) == job)
    }
    let signed = Job(
      synchronizationId: "s1", publisherId: 7, customerId: "me", transactionId: "1", imported: .told,
      signedTransaction: "a.b.c", registeredAt: 5)
    #expect(try Job(JSONText(signed.encoded), doors: DoorCatalog()) == signed)
    #expect(signed.withoutAddress.signedTransaction == nil)
    let unknown = String(decoding: job(.silent).encoded, as: UTF8.self).replacing("silent", with: "whispered")
    #expect(throws: Job.NewerFormat(format: 4)) { try Job(JSONText(Array(unknown.utf8)), doors: DoorCatalog()) }
  }
}
