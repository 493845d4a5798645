import Domain
import DomainSupport
import Formats
import JSON
import Testing

@testable import Doors

/// What a job of a door adds to a registration.
struct CommitDoorTests {
  private let active = TestPurchases.transaction(expires: 30)
  private let key = TestPurchases.key()

  private func job(
    _ customer: CustomerId = "me", _ door: Door = .mbaasy, attributes: PurchaseAttributes? = nil, offer: OfferId? = nil
  ) -> Job {
    Job(
      synchronizationId: "s1", publisherId: 7, customerId: customer, transactionId: "1", door: door,
      attributes: attributes, requestedOfferId: offer, registeredAt: TestPurchases.at(9))
  }

  // MARK: Nobody

  @Test func `a job without a customer verifies, and claims nothing`() {
    var commit = TestCommit()
    let done = commit.evidence(job(CustomerId.nobody), active)
    #expect(done.code == .purchaseUnclaimed)
    #expect(done.result?.accessGranted == false && done.result?.offerId == nil)
    #expect(done.version == 1)
    #expect(commit[purchase: key]?.owner == nil)
    #expect(commit.state.changes.begunOwnerships.isEmpty && commit.state.changes.customers.isEmpty)
    #expect(done.events.map(\.topic) == [EventTopic.synchronizationResult])
    let body = done.events.map { String(decoding: $0.body, as: UTF8.self) }.first ?? ""
    #expect(!body.contains("customerId") && !body.contains("cleengCustomerId"))
  }

  @Test func `it tells why a purchase gives no access`() {
    var commit = TestCommit()
    #expect(
      commit.evidence(job(CustomerId.nobody), TestPurchases.transaction(expires: 5)).code == .receivedExpiredPurchase)
  }

  @Test func `it takes nothing from an owner`() {
    var commit = TestCommit([TestPurchases.purchase(active, owner: "you", version: 3)])
    let done = commit.finalize(
      job(CustomerId.nobody, attributes: PurchaseAttributes(countryCode: "DE")), .known(key))
    #expect(done.code == .purchaseUnclaimed)
    #expect(commit[purchase: key]?.owner?.customerId == "you")
    #expect(commit[purchase: key]?.attributes == nil)
    #expect(done.version == 3)
  }

  // MARK: The offer that the caller names

  @Test func `an offer that does not fit gives nothing`() {
    var commit = TestCommit()
    let done = commit.evidence(job("me", .cleeng, offer: "L1"), active)
    #expect(done.code == .offerMismatch)
    #expect(done.result?.originalTransactionId == "1")
    #expect(commit[purchase: key]?.owner == nil)
    #expect(done.changes.isEmpty)
  }

  @Test func `an offer that fits gives access`() {
    var commit = TestCommit()
    #expect(commit.evidence(job("me", .cleeng, offer: "S1"), active).code == .purchaseSynchronized)
  }

  // MARK: The door's own policy

  @Test func `a door may let a customer take what the publisher's own API refuses`() {
    var commit = TestCommit([TestPurchases.purchase(active, owner: "you", version: 3)])
    commit.publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: TestCommit.offers,
      doors: OpenDoors(cleeng: CleengDoor()), webhooks: [])
    #expect(commit.finalize(TestCommit.job(), .known(key)).code == .purchaseOwnedByAnotherCustomer)
    #expect(commit.finalize(job("me", .iaptic), .known(key)).code == .purchaseOwnedByAnotherCustomer)
    #expect(commit.finalize(job("me", .cleeng), .known(key)).code == .purchaseSynchronized)
    #expect(commit[purchase: key]?.owner?.customerId == "me")
  }

  @Test func `a door moves nothing that gives no access, and no consumable`() {
    for facts in [
      TestPurchases.transaction(expires: 5), TestPurchases.transaction(expires: 30, revoked: 9),
      TestPurchases.transaction("1", .consumable, "coins"), TestPurchases.transaction("1", .nonConsumable, "other"),
    ] {
      var commit = TestCommit([TestPurchases.purchase(facts, owner: "you", version: 3)])
      commit.publisher = Publisher(
        id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: TestCommit.offers,
        doors: OpenDoors(cleeng: CleengDoor()), webhooks: [])
      let done = commit.finalize(job("me", .cleeng), .known(key))
      #expect(done.result?.accessGranted == false)
      #expect(commit[purchase: key]?.owner?.customerId == "you")
    }
  }

  @Test func `a payment for a product without an offer changes no owner`() {
    var commit = TestCommit()
    let done = commit.evidence(job("me", .cleeng, offer: "S1"), TestPurchases.transaction("1", .nonConsumable, "other"))
    #expect(done.code == .offerNotFound)
    #expect(commit[purchase: key]?.owner == nil)
  }

  // MARK: What the client said besides

  @Test func `attributes stay with the purchase, and later ones count`() {
    var commit = TestCommit()
    let first = PurchaseAttributes(couponCode: "SUMMER", countryCode: "DE", metadata: Array("{}".utf8))
    #expect(commit.evidence(job(attributes: first), active).version == 1)
    #expect(commit[purchase: key]?.attributes == first)
    let second = commit.finalize(job(attributes: PurchaseAttributes(countryCode: "AT")), .known(key))
    #expect(second.version == 2)
    #expect(
      commit[purchase: key]?.attributes
        == PurchaseAttributes(couponCode: "SUMMER", countryCode: "AT", metadata: Array("{}".utf8)))
    #expect(commit.finalize(job(), .known(key)).version == 2)
  }

  @Test func `a refused customer changes no attributes`() {
    var commit = TestCommit([TestPurchases.purchase(active, owner: "you", version: 3)])
    let done = commit.finalize(job(attributes: PurchaseAttributes(countryCode: "DE")), .known(key))
    #expect(done.code == .purchaseOwnedByAnotherCustomer)
    #expect(commit[purchase: key]?.attributes == nil)
  }

  @Test func `a new owner inherits the coupon, and nothing about a person`() {
    var commit = TestCommit(ownership: OwnershipPolicy(restore: .transfer))
    let first = PurchaseAttributes(
      couponCode: "SUMMER", countryCode: "DE", identifierForVendor: "ABC", ipAddress: "192.0.2.1",
      metadata: Array("{}".utf8))
    _ = commit.evidence(job("you", attributes: first), active)
    #expect(commit.finalize(job("me"), .known(key)).code == .purchaseSynchronized)
    #expect(commit[purchase: key]?.attributes == PurchaseAttributes(couponCode: "SUMMER"))
  }

  @Test func `attributes have the same bytes after reading`() throws {
    let all = PurchaseAttributes(
      couponCode: "a\"b", countryCode: "DE", identifierForVendor: "x", ipAddress: "2001:db8::1",
      metadata: Array(#"{"b":1,"a":[true]}"#.utf8))
    #expect(try PurchaseAttributes(JSONText(all.encoded)) == all)
    #expect(try PurchaseAttributes(JSONText(PurchaseAttributes().encoded)).isEmpty)
  }

  @Test func `a job of a door has the same bytes after reading`() throws {
    let job = Job(
      synchronizationId: "s1", publisherId: 7, customerId: CustomerId.nobody, transactionId: "1", signedPurchase: key,
      door: .iaptic, attributes: PurchaseAttributes(countryCode: "DE"), requestedOfferId: "S1", replyTo: "cs.gateway.1",
      registeredAt: 5)
    #expect(try Job(JSONText(job.encoded), doors: DoorRegistry.catalog) == job)
    #expect(job.format == 2 && job.defect == nil)
    #expect(job.withoutAddress.attributes == nil)
    #expect(TestCommit.job().format == 1)
  }

  @Test func `a job of a door that this worker does not know waits for a newer one`() {
    let text =
      #"{"format":2,"door":"roku","synchronizationId":"a","publisherId":7,"customerId":"","transactionId":"1","registeredAt":5}"#
    #expect(throws: Job.NewerFormat(format: 3)) { try Job(JSONText(Array(text.utf8)), doors: DoorRegistry.catalog) }
  }
}
