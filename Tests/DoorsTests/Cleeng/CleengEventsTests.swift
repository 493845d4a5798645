import DomainSupport
import Formats
import JSON
import Testing

@testable import Domain
@testable import Doors

/// The events of Cleeng's door, by value.
struct CleengEventsTests {
  private typealias Lab = CleengLab

  private func topics(_ events: [Event]) -> [EventTopic] { events.map(\.topic) }

  // MARK: Payments

  @Test func `a first payment creates a subscription`() {
    let events = Lab.events(nil, Lab.subscription("42", 1801), Lab.job(), .purchaseSynchronized)
    #expect(
      events.map(Lab.text) == [
        """
        {"broadcasterId":7,"data":{"active":true,"customerId":42,"expirationDate":"2023-12-14T22:13:20.000Z",\
        "inAppSpecificData":{"environment":"Production","originalTransactionId":"1","productId":"monthly",\
        "transactionId":"1"},"inTrial":false,"offerId":"S1","offerType":"subscription","paymentGateway":"apple",\
        "subscriptionId":1801},"topic":"subscriptionCreated"}
        """,
        """
        {"broadcasterId":7,"data":{"active":true,"customerId":42,"expirationDate":"2023-12-14T22:13:20.000Z",\
        "inAppSpecificData":{"environment":"Production","originalTransactionId":"1","productId":"monthly",\
        "transactionId":"1"},"inTrial":false,"offerId":"S1","offerType":"subscription","paymentGateway":"apple",\
        "result":"SubscriptionCreated","subscriptionId":1801},"topic":"inappPurchaseValidationSucceeded"}
        """,
      ])
    #expect(events.map(\.version) == [1, 1])
    #expect(events.map(\.customerId) == ["42", "42"])
  }

  @Test func `a purchase that nobody owned is created, too`() {
    let events = Lab.events(Lab.subscription(nil), Lab.subscription("42"), Lab.job(), .purchaseSynchronized)
    #expect(topics(events) == ["subscriptionCreated", "inappPurchaseValidationSucceeded"])
    #expect(Lab[events[1], "result"] == .string("SubscriptionCreated"))
  }

  @Test func `a transfer ends one subscription and begins another, in this order`() {
    let events = Lab.events(
      Lab.subscription("mia", 1801), Lab.subscription("42", 2314, version: 2), Lab.job(), .purchaseSynchronized)
    #expect(
      events.map(Lab.text) == [
        """
        {"broadcasterId":7,"data":{"active":false,"customerId":"mia","expirationDate":"2023-11-24T22:13:20.000Z",\
        "inAppSpecificData":{"environment":"Production","originalTransactionId":"1","productId":"monthly",\
        "transactionId":"1"},"inTrial":false,"offerId":"S1","offerType":"subscription","paymentGateway":"apple",\
        "subscriptionId":1801},"topic":"subscriptionTerminated"}
        """,
        """
        {"broadcasterId":7,"data":{"active":true,"customerId":42,"expirationDate":"2023-12-14T22:13:20.000Z",\
        "inAppSpecificData":{"environment":"Production","originalTransactionId":"1","productId":"monthly",\
        "transactionId":"1"},"inTrial":false,"offerId":"S1","offerType":"subscription","paymentGateway":"apple",\
        "prevSubscriptionId":1801,"subscriptionId":2314},"topic":"subscriptionCreated"}
        """,
        """
        {"broadcasterId":7,"data":{"active":true,"customerId":42,"expirationDate":"2023-12-14T22:13:20.000Z",\
        "inAppSpecificData":{"environment":"Production","originalTransactionId":"1","productId":"monthly",\
        "transactionId":"1"},"inTrial":false,"offerId":"S1","offerType":"subscription","paymentGateway":"apple",\
        "prevSubscriptionId":1801,"result":"SubscriptionTransferred","subscriptionId":2314},\
        "topic":"inappPurchaseValidationSucceeded"}
        """,
      ])
    #expect(events.map(\.customerId) == ["mia", "42", "42"])
    #expect(events.map(\.version) == [2, 2, 2])
  }

  @Test func `the owner's next payment changes nothing`() {
    let events = Lab.events(Lab.subscription("42"), Lab.subscription("42"), Lab.job(), .purchaseSynchronized)
    #expect(topics(events) == ["inappPurchaseValidationSucceeded"])
    #expect(Lab[events[0], "result"] == .string("SubscriptionSynchronized"))
    #expect(Lab[events[0], "prevSubscriptionId"] == nil && Lab[events[0], "prevCustomerId"] == nil)
  }

  @Test func `an owner whose access had ended is back`() {
    let events = Lab.events(
      Lab.subscription("42", expires: 5), Lab.subscription("42", version: 2), Lab.job(), .purchaseSynchronized)
    #expect(topics(events) == ["inappPurchaseValidationSucceeded"])
    #expect(Lab[events[0], "result"] == .string("SubscriptionRevived"))
    #expect(Lab[events[0], "subscriptionId"] == .integer(1))
  }

  @Test func `a payment names its own transaction, and the one that decides gives the product`() {
    let first = TestPurchases.transaction(expires: 30, isUpgraded: true)
    let second = TestPurchases.transaction("2", of: "1", .autoRenewable, "yearly", bought: 5, expires: 370)
    var purchase = TestPurchases.purchase(first, second)
    purchase.owner = Owner(customerId: "42", subscriptionId: 1)
    let events = Lab.events(nil, purchase, Lab.job(), .purchaseSynchronized)
    func data(_ event: Event) -> JSONValue? { Lab[event, "inAppSpecificData"] }
    func named(_ transaction: TransactionId) -> JSONValue {
      .object([
        "environment": .string("Production"), "originalTransactionId": .string("1"), "productId": .string("yearly"),
        "transactionId": .string(transaction.text),
      ])
    }
    #expect(events.map(data) == [named("2"), named("1")])
  }

  // MARK: Failures

  @Test func `a payment without access tells why, and creates nothing`() {
    // The customer owns the expired purchase all the same.
    let purchase = Lab.subscription("42", expires: 5)
    let events = Lab.events(nil, purchase, Lab.job(coupon: "SUMMER"), .receivedExpiredPurchase)
    #expect(
      events.map(Lab.text) == [
        """
        {"broadcasterId":7,"data":{"couponCode":"SUMMER","customerId":42,\
        "inAppSpecificData":{"environment":"Production","originalTransactionId":"1","productId":"monthly",\
        "transactionId":"1"},"offerId":"S1","paymentGateway":"apple","result":"PurchaseExpired"},\
        "topic":"inappPurchaseValidationFailed"}
        """
      ])
    #expect(events[0].customerId == "42" && events[0].version == 1)
  }

  @Test func `a payment without a purchase tells only what it said`() {
    let job = Lab.job("mia", "99", offer: "S1")
    let events = DoorEvents.ofFailure(
      job, SynchronizationResult(.transactionIdNotFound), Lab.publisher(), now: TestPurchases.at(10))
    #expect(
      events.map(Lab.text) == [
        """
        {"broadcasterId":7,"data":{"customerId":"mia","inAppSpecificData":{"transactionId":"99"},"offerId":"S1",\
        "paymentGateway":"apple","result":"TransactionNotFound"},"topic":"inappPurchaseValidationFailed"}
        """
      ])
    #expect(events[0].version == 0)
  }

  @Test func `an erased customer's event has no customer in the ledger`() {
    let result = SynchronizationResult(.customerErased)
    let events = DoorEvents.ofFailure(Lab.job(), result, Lab.publisher(), now: 0)
    #expect(events.map(\.customerId) == [nil])
    #expect(Lab[events[0], "result"] == .string("CustomerNotFound"))
  }

  @Test func `every result has its failure`() {
    let expected: [ResultCode: String] = [
      .receivedExpiredPurchase: "PurchaseExpired", .purchaseRevoked: "PurchaseRevoked",
      .transactionIdNotFound: "TransactionNotFound", .offerNotFound: "OfferNotFound", .offerMismatch: "OfferMismatch",
      .purchaseOwnedByAnotherCustomer: "PurchaseOwnedByAnotherCustomer", .ownershipNotProven: "OwnershipNotProven",
      .appMismatch: "ReceiptOfAnotherApp", .sandboxNotAllowed: "SandboxNotAllowed",
      .verificationFailed: "VerificationFailed", .customerErased: "CustomerNotFound", .internalError: "InternalError",
    ]
    for result in ResultCode.known + [ResultCode(rawValue: "A_LATER_ONE")] {
      #expect(CleengFailure(result).rawValue == expected[result] ?? "InternalError", "\(result.rawValue)")
    }
    #expect(Set(CleengFailure.allCases.map(\.rawValue)).isSuperset(of: expected.values))
  }

  @Test func `the gateway's refusal repeats what the request said, and no address`() {
    func event(
      _ customer: CustomerId?, _ transaction: TransactionId?, coupon: String? = nil, at time: Int64 = 1
    ) -> Event {
      CleengRefusedPayment(
        publisherId: 7, customerId: customer, offerId: "S1", transactionId: transaction, couponCode: coupon,
        receiptSHA256: [1, 2], time: time, traceparent: "t"
      ).event(.receiptNotValid)
    }
    #expect(
      Lab.text(event("42", "99", coupon: "SUMMER")) == """
        {"broadcasterId":7,"data":{"couponCode":"SUMMER","customerId":42,"inAppSpecificData":{"transactionId":"99"},"offerId":"S1",\
        "paymentGateway":"apple","result":"ReceiptNotValid"},"topic":"inappPurchaseValidationFailed"}
        """)
    #expect(
      Lab.text(event(nil, nil)) == """
        {"broadcasterId":7,"data":{"inAppSpecificData":{},"offerId":"S1","paymentGateway":"apple",\
        "result":"ReceiptNotValid"},"topic":"inappPurchaseValidationFailed"}
        """)
    #expect(event("42", "99").customerId == "42" && event("42", "99").traceparent == "t")
    #expect(event("42", "99").version == nil)
    let ids = [event("42", "99"), event("42", "99", at: 2), event("42", nil), event(nil, "99")].map(\.id)
    #expect(Set(ids).count == ids.count)
    #expect(event("42", "99").id == ids[0])
  }

  // MARK: Other APIs

  @Test func `our own API begins and ends subscriptions, too, and has no validation`() {
    let (mia, other) = (Lab.subscription("mia", 1), Lab.subscription("42", 2))
    let registered = Lab.events(nil, mia, Lab.job("mia", door: nil), .purchaseSynchronized)
    #expect(topics(registered) == ["subscriptionCreated"])
    let moved = Lab.events(mia, other, Lab.job("42", "1", .transfer, door: nil), .purchaseOwnershipTransferred)
    #expect(topics(moved) == ["subscriptionTerminated", "subscriptionCreated"])
    #expect(Lab[moved[1], "prevSubscriptionId"] == .integer(1) && Lab[moved[1], "prevCustomerId"] == nil)
    let released = Lab.events(mia, Lab.subscription(nil))
    #expect(topics(released) == ["subscriptionTerminated"])
    #expect(Lab.events(mia, mia, Lab.job("mia", door: nil), .purchaseSynchronized) == [])
    #expect(Lab.events(mia, mia, Lab.job("42", door: .iaptic), .purchaseOwnedByAnotherCustomer) == [])
    #expect(
      DoorEvents.ofFailure(Lab.job(door: nil), SynchronizationResult(.internalError), Lab.publisher(), now: 0) == [])
  }

  @Test func `a closed door tells nothing`() {
    let closed = Lab.publisher(OpenDoors())
    #expect(Lab.events(nil, Lab.subscription("42"), Lab.job(), .purchaseSynchronized, publisher: closed) == [])
    #expect(DoorEvents.ofFailure(Lab.job(), SynchronizationResult(.internalError), closed, now: 0) == [])
  }

  @Test func `a period that gives no access begins without an event, and its end is told`() {
    let expired = Lab.subscription("42", expires: 5)
    #expect(Lab.events(nil, expired, Lab.job("42", door: nil), .receivedExpiredPurchase) == [])
    let released = Lab.events(expired, Lab.subscription(nil, expires: 5))
    #expect(topics(released) == ["subscriptionTerminated"])
    // It had ended before.
    #expect(Lab[released[0], "expirationDate"] == .string("2023-11-19T22:13:20.000Z"))
    var sandbox = TestPurchases.purchase(TestPurchases.transaction(in: "Sandbox", expires: 30))
    sandbox.owner = Owner(customerId: "42", subscriptionId: 1)
    #expect(Lab.events(nil, sandbox, Lab.job("42", door: nil), .sandboxNotAllowed) == [])
    let allowed = Lab.events(
      nil, sandbox, Lab.job("42", door: nil), .purchaseSynchronized, publisher: Lab.publisher(sandbox: .everybody))
    #expect(topics(allowed) == ["subscriptionCreated"])
  }

  @Test func `a consumable is no subscription`() {
    func coins(_ owner: CustomerId, _ subscriptionId: Int64) -> Purchase {
      var purchase = TestPurchases.purchase(TestPurchases.transaction("1", of: "1", .consumable, "coins"))
      purchase.owner = Owner(customerId: owner, subscriptionId: subscriptionId)
      return purchase
    }
    let first = Lab.events(nil, coins("42", 1), Lab.job(offer: "C1"), .purchaseSynchronized)
    #expect(topics(first) == ["inappPurchaseValidationSucceeded"])
    #expect(Lab[first[0], "offerType"] == .string("consumable") && Lab[first[0], "expirationDate"] == nil)
    let moved = Lab.events(coins("42", 1), coins("43", 2), Lab.job("43", offer: "C1"), .purchaseSynchronized)
    #expect(topics(moved) == ["inappPurchaseValidationSucceeded"])
  }

  // MARK: Ids

  @Test func `a period of ownership begins and ends once, and a payment has one result`() {
    let (mia, other) = (Lab.subscription("mia", 1), Lab.subscription("42", 2))
    let first = Lab.events(mia, other, Lab.job(), .purchaseSynchronized)
    #expect(first.map(\.id) == Lab.events(mia, other, Lab.job(), .purchaseSynchronized).map(\.id))
    #expect(Set(first.map(\.id)).count == 3)
    let failed = Lab.events(mia, mia, Lab.job(), .purchaseOwnedByAnotherCustomer)
    #expect(failed.count == 1 && !first.map(\.id).contains(failed[0].id))
    let later = Lab.events(nil, Lab.subscription("42", 3), Lab.job(door: nil), .purchaseSynchronized)
    #expect(later[0].topic == first[1].topic && later[0].id != first[1].id)
  }

  // MARK: Access while Apple is away

  @Test func `a provision that Apple does not confirm is told as terminated, once`() {
    var given = CleengLab.subscription("42", version: 1)
    given.provisionalUntil = TestPurchases.at(11)
    var withdrawn = CleengLab.subscription("42", version: 2)
    withdrawn.provisionalUntil = TestPurchases.at(10)
    #expect(CleengLab.events(nil, given).map(\.topic) == [EventTopic.subscriptionCreated])
    let told = CleengLab.events(given, withdrawn, CleengLab.job(), .transactionIdNotFound)
    #expect(told.map(\.topic) == [EventTopic.subscriptionTerminated, EventTopic.validationFailed])
    #expect(CleengLab[told.first, "active"] == .bool(false))
    #expect(CleengLab[told.first, "expirationDate"] == .string("2023-11-24T22:13:20.000Z"))
    #expect(CleengLab.events(withdrawn, withdrawn).isEmpty)
    // The end of the ownership is another event.
    let ended = CleengLab.events(withdrawn, CleengLab.subscription(nil, version: 3))
    #expect(ended.map(\.topic) == [EventTopic.subscriptionTerminated] && ended.first?.id != told.first?.id)
  }

  @Test func `a provision that Apple confirms is told by the payment only`() {
    var given = CleengLab.subscription("42", version: 1)
    given.provisionalUntil = TestPurchases.at(11)
    let confirmed = CleengLab.subscription("42", version: 2)
    #expect(CleengLab.events(given, confirmed).isEmpty)
    let told = CleengLab.events(given, confirmed, CleengLab.job(), .purchaseSynchronized)
    #expect(told.map(\.topic) == [EventTopic.validationSucceeded])
  }
}
