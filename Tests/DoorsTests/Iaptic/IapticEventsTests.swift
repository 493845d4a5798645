import DomainSupport
import Formats
import JSON
import Testing

@testable import Domain
@testable import Doors

/// When iaptic's webhook is sent, to whom, and with which body.
struct IapticEventsTests {
  private let publisher = Publisher(
    id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: TestCommit.offers, webhooks: [])

  private func door(_ prefix: String = "") -> IapticDoor {
    IapticDoor(policy: DoorPolicy(customerPrefix: prefix), appName: "a", apiKeyHashes: [])
  }

  private func events(
    _ before: Purchase?, _ after: Purchase, job: Job? = nil, _ result: ResultCode? = nil,
    isNews: Bool = true, holdings: [Purchase]? = nil, left: [Purchase] = [], prefix: String = ""
  ) -> [Event] {
    let change = PurchaseChange(
      before: before, after: after, job: job, result: result.map { SynchronizationResult($0) }, isNews: isNews,
      holdings: holdings ?? [after], previousHoldings: left, now: TestPurchases.at(10), traceparent: "trace")
    return IapticEvents.of(change, door(prefix), publisher)
  }

  private func reasons(_ events: [Event]) throws -> [String] {
    try events.map { try member($0, "notification", "reason") ?? "" }
  }

  private func data(_ event: Event) throws -> JSONValue {
    let body: [ExactText: JSONValue] = try JSONText(event.body).decoded()
    return body["data"] ?? .null
  }

  private func member(_ event: Event, _ path: String...) throws -> String? {
    var value = try data(event)
    for name in path {
      guard case .object(let members) = value, let next = members[name] else { return nil }
      value = next
    }
    if case .string(let text) = value { return text } else { return nil }
  }

  private let owned = TestPurchases.purchase(TestPurchases.transaction(expires: 30), owner: "alice", version: 3)

  @Test func `a validated receipt is told with the whole collection`() throws {
    let other = TestPurchases.purchase(
      TestPurchases.transaction("8", of: "8", .nonConsumable, "lifetime"), owner: "alice")
    let job = TestCommit.job("alice")
    let told = events(nil, owned, job: job, .purchaseSynchronized, holdings: [other, owned])
    let event = try #require(told.first)
    #expect(told.count == 1 && event.topic == "purchases.updated" && event.publisherId == 7)
    #expect(event.customerId == "alice" && event.version == 3 && event.traceparent == "trace")
    #expect(
      String(decoding: event.body, as: UTF8.self) == """
        {"broadcasterId":7,"data":{"type":"purchases.updated","applicationUsername":"alice","purchases":\
        {"apple:lifetime":{"productId":"apple:lifetime","platform":"apple","sandbox":false,"purchaseId":"apple:8",\
        "transactionId":"apple:8","purchaseDate":"2023-11-14T22:13:20.000Z","isExpired":false,"cancelationReason":"",\
        "isBillingRetryPeriod":false,"isTrialPeriod":false,"isIntroPeriod":false,"isAcknowledged":true,\
        "isConsumed":false,"isPending":false,"isSharedPurchase":false,"entitledUsers":["alice"]},\
        "apple:monthly":{"productId":"apple:monthly","platform":"apple","sandbox":false,"purchaseId":"apple:1",\
        "transactionId":"apple:1","purchaseDate":"2023-11-14T22:13:20.000Z","expirationDate":"2023-12-14T22:13:20.000Z",\
        "isExpired":false,"cancelationReason":"","isBillingRetryPeriod":false,"isTrialPeriod":false,\
        "isIntroPeriod":false,"isAcknowledged":true,"isConsumed":false,"isPending":false,"isSharedPurchase":false,\
        "entitledUsers":["alice"]}},"notification":{"reason":"RECEIPT_VALIDATED","id":"\(event.id)",\
        "date":"2023-11-24T22:13:20.000Z","productId":"apple:monthly","purchaseId":"apple:1",\
        "transactionId":"apple:1"}},"topic":"purchases.updated"}
        """)
  }

  @Test func `a receipt that tells nothing new is told as refreshed, once for each job`() throws {
    let (first, second) = (TestCommit.job("alice", id: "s1"), TestCommit.job("alice", id: "s2"))
    let told = [first, second].flatMap { events(owned, owned, job: $0, .purchaseSynchronized, isNews: false) }
    #expect(try reasons(told) == ["RECEIPT_REFRESHED", "RECEIPT_REFRESHED"])
    #expect(Set(told.map(\.id)).count == 2)
    let again = events(owned, owned, job: first, .purchaseSynchronized, isNews: false)
    #expect(again.map(\.id) == [told[0].id])
    // Apple has signed the same anew.
    let resigned = TestPurchases.purchase(TestPurchases.transaction(expires: 30, signed: 9), owner: "alice")
    #expect(try reasons(events(owned, resigned, job: first, .purchaseSynchronized)) == ["RECEIPT_REFRESHED"])
    let longer = TestPurchases.purchase(TestPurchases.transaction(expires: 40, signed: 9), owner: "alice")
    #expect(try reasons(events(owned, longer, job: first, .purchaseSynchronized)) == ["RECEIPT_VALIDATED"])
  }

  @Test(arguments: [
    ResultCode.receivedExpiredPurchase, .purchaseRevoked, .offerNotFound, .sandboxNotAllowed,
  ])
  func `a verified purchase without access is told too`(result: ResultCode) throws {
    #expect(try reasons(events(nil, owned, job: TestCommit.job("alice"), result)) == ["RECEIPT_VALIDATED"])
  }

  @Test func `another customer's failed request tells nothing unless it brought news`() throws {
    let job = TestCommit.job("bob")
    #expect(events(owned, owned, job: job, .purchaseOwnedByAnotherCustomer, isNews: false).isEmpty)
    let renewed = TestPurchases.purchase(
      TestPurchases.transaction(expires: 30), TestPurchases.transaction("2", bought: 30, expires: 60), owner: "alice")
    let told = events(owned, renewed, job: job, .purchaseOwnedByAnotherCustomer)
    #expect(try reasons(told) == ["RENEWED"] && told.map(\.customerId) == ["alice"])
  }

  @Test(arguments: [ResultCode.transactionIdNotFound, .internalError, .verificationFailed])
  func `a verification that failed tells nothing`(result: ResultCode) {
    #expect(events(owned, owned, job: TestCommit.job("alice"), result, isNews: false).isEmpty)
  }

  @Test func `news without a job is told with its reason`() throws {
    let lapsing = TestPurchases.purchase(
      TestPurchases.transaction(expires: 30), renewal: TestPurchases.renewal(willRenew: false, signed: 9),
      owner: "alice")
    let before = TestPurchases.purchase(
      TestPurchases.transaction(expires: 30), renewal: TestPurchases.renewal(willRenew: true, signed: 1),
      owner: "alice")
    let told = events(before, lapsing)
    #expect(try reasons(told) == ["WILL_LAPSE"])
    #expect(
      try member(told[0], "purchases", "apple:monthly", "renewalIntentChangeDate") == "2023-11-23T22:13:20.000Z")
  }

  @Test func `facts that Apple signed anew are not told`() {
    let again = TestPurchases.purchase(TestPurchases.transaction(expires: 30, signed: 9), owner: "alice")
    #expect(events(owned, again).isEmpty)
    #expect(events(owned, owned, isNews: false).isEmpty)
  }

  @Test func `a purchase without an owner is not told`() {
    #expect(events(nil, TestPurchases.purchase(TestPurchases.transaction(expires: 30))).isEmpty)
  }

  @Test func `a transfer is told to both customers`() throws {
    let left = TestPurchases.purchase(TestPurchases.transaction("8", of: "8", .nonConsumable, "lifetime"))
    let after = TestPurchases.purchase(TestPurchases.transaction(expires: 30), owner: "bob", version: 4)
    let job = TestCommit.job("bob", "1", .transfer)
    let told = events(owned, after, job: job, .purchaseOwnershipTransferred, left: [left])
    #expect(try told.map { try member($0, "applicationUsername") } == ["alice", "bob"])
    #expect(try reasons(told) == ["OTHER", "OTHER"] && Set(told.map(\.id)).count == 2)
    #expect(try member(told[0], "purchases", "apple:lifetime", "productId") == "apple:lifetime")
    #expect(try member(told[0], "purchases", "apple:monthly", "productId") == nil)
    #expect(try member(told[1], "purchases", "apple:monthly", "productId") == "apple:monthly")
  }

  @Test func `a released purchase is told to the customer who lost it`() throws {
    let after = TestPurchases.purchase(TestPurchases.transaction(expires: 30), version: 4)
    let told = events(owned, after, holdings: [])
    #expect(told.map(\.customerId) == ["alice"])
    #expect(try data(told[0]) != .null && member(told[0], "purchases", "apple:monthly", "productId") == nil)
  }

  @Test func `the user is the customer without the door's prefix`() throws {
    let prefixed = TestPurchases.purchase(TestPurchases.transaction(expires: 30), owner: "ia:alice")
    let told = events(nil, prefixed, prefix: "ia:")
    #expect(told.map(\.customerId) == ["ia:alice"])
    #expect(try member(told[0], "applicationUsername") == "alice")
    // A customer of another door.
    #expect(events(nil, owned, prefix: "ia:").isEmpty)
    #expect(door("ia:").policy.user(of: "ia:") == nil)
  }

  @Test func `a commit tells the event if the door is open`() {
    var commit = TestCommit(now: 10)
    let closed = commit.evidence(TestCommit.job(), TestPurchases.transaction(expires: 30))
    #expect(!closed.events.map(\.topic).contains(EventTopic.purchasesUpdated))
    commit = TestCommit(now: 10)
    commit.publisher = Publisher(
      id: 7, customers: .open, tokenHashes: [], customerTokens: nil, apps: [], offers: TestCommit.offers,
      doors: OpenDoors(iaptic: door()), webhooks: [])
    let open = commit.evidence(TestCommit.job(), TestPurchases.transaction(expires: 30))
    #expect(open.events.filter { $0.topic == EventTopic.purchasesUpdated }.count == 1)
  }
}
