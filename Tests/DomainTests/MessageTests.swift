import Domain
import JSON
import Testing

/// The text of a claim in Redis.
struct ClaimTests {
  private static let kinds = Job.Kind.allCases.flatMap { kind in JobLane.allCases.map { (kind, $0) } }

  @Test(arguments: ["a", "", "|", "a|b||c", "7|8", "é|ü"]) func roundTrip(id: String) {
    for customer in ["1", "42", "|", "a|b", "1|2|3", "é", "v2", String(repeating: "x", count: 256)] {
      for (kind, lane) in Self.kinds {
        let claim = Claim(
          synchronizationId: SynchronizationId(id), customerId: CustomerId(customer), kind: kind, lane: lane)
        #expect(Claim(encoded: claim.encoded) == claim)
      }
    }
  }

  @Test func encoded() {
    #expect(Claim(synchronizationId: "a|b", customerId: "42").encoded == "2|42|a|b")
    #expect(Claim(synchronizationId: "b", customerId: "é|").encoded == "3|é||b")
    #expect(Claim(synchronizationId: "b", customerId: "42", kind: .transfer).encoded == "t2|42|b")
    #expect(Claim(synchronizationId: "b", customerId: "42", kind: .transfer, lane: .bulk).encoded == "bt2|42|b")
  }

  @Test(arguments: [
    "", "42", "|a", "x|a", " 2|42|a", "2|42", "2|421|a", "1|42|a", "3|42|", "9223372036854775808|a", "1|é|a",
    "b", "tb2|42|a", "bb2|42|a",
  ])
  func malformed(text: String) {
    #expect(Claim(encoded: text) == nil)
  }
}

/// Jobs: which ones this code can run, and their form on the wire.
struct JobTests {
  private func job(id: SynchronizationId = "sync-1", transaction: TransactionId = "2000000000000001") -> Job {
    Job(
      synchronizationId: id, publisherId: 7, customerId: "42", transactionId: transaction,
      registeredAt: 1_700_000_000_000
    )
  }

  @Test func soundJobs() {
    #expect(job().defect == nil)
    #expect(job(id: SynchronizationId(String(repeating: "x", count: 256))).defect == nil)
    #expect(job(transaction: "0").defect == nil)
    #expect(job(transaction: TransactionId(String(repeating: "9", count: 32))).defect == nil)
  }

  @Test(arguments: ["", "12a", "-1", "1.0", " 1", "1\n", "１", "٣", String(repeating: "9", count: 33)])
  func badTransactionId(text: String) {
    #expect(!TransactionId.isValid(text))
    #expect(job(transaction: TransactionId(text)).defect == "transactionId is not 1 to 32 digits")
  }

  @Test func badSynchronizationId() {
    #expect(job(id: "").defect == "synchronizationId is not 1 to 256 bytes")
    #expect(
      job(id: SynchronizationId(String(repeating: "x", count: 257))).defect == "synchronizationId is not 1 to 256 bytes"
    )
    #expect(
      job(id: SynchronizationId(String(repeating: "é", count: 129))).defect == "synchronizationId is not 1 to 256 bytes"
    )
  }

  @Test(arguments: ["", "a\u{1F}b", String(repeating: "é", count: 129)]) func badCustomerId(id: String) {
    let job = Job(
      synchronizationId: "a", publisherId: 7, customerId: CustomerId(id), transactionId: "1", registeredAt: 0)
    #expect(job.defect == "customerId is not 1 to 256 bytes")
  }

  /// A worker subtracts the time from its own, which would overflow.
  @Test(arguments: [Int64.min, -1, 253_402_300_800_000, .max]) func badTime(registeredAt: Int64) {
    let job = Job(
      synchronizationId: "a", publisherId: 7, customerId: "42", transactionId: "1", registeredAt: registeredAt)
    #expect(job.defect == "registeredAt is not a time from 1970 to 9999")
  }

  private func body(format: Int64) -> [UInt8] {
    let text = String(decoding: job().encoded, as: UTF8.self)
    return Array(text.replacing(#""format":1"#, with: #""format":\#(format)"#).utf8)
  }

  @Test(arguments: [0, -1]) func noFormat(format: Int64) throws {
    #expect(try Job(JSONText(body(format: format)), doors: DoorCatalog()).defect == "format \(format), expected 1 to 3")
  }

  @Test(arguments: [4, 5, Int64.max]) func newerFormat(format: Int64) throws {
    // The other members may have any form.
    for body in [body(format: format), Array(#"{"format":\#(format),"transactionId":["1"]}"#.utf8)] {
      #expect(throws: Job.NewerFormat(format: format)) { try Job(JSONText(body), doors: DoorCatalog()) }
    }
  }

  @Test func jsonRoundTrip() throws {
    let full = Job(
      synchronizationId: "a|\"\\/\u{1}é", publisherId: PublisherId(.max), customerId: "1", transactionId: "1",
      signedPurchase: PurchaseKey(publisherId: PublisherId(.max), environment: "Sandbox", originalTransactionId: "2"),
      isByCustomer: true, tokenName: "shop", ipAddress: "192.0.2.1", registeredAt: 0, traceparent: "00-x")
    for job in [full, full.withoutAddress, job()] {
      #expect(try Job(JSONText(job.encoded), doors: DoorCatalog()) == job)
      #expect(try Job(JSONText(Array("{\"new\":[1],".utf8) + job.encoded.dropFirst()), doors: DoorCatalog()) == job)
    }
  }

  /// The names on the wire: jobs of an older process lie in the queues when a newer one starts.
  @Test func wireForm() throws {
    let text = String(decoding: job().encoded, as: UTF8.self)
    #expect(
      text == #"{"customerId":"42","format":1,"publisherId":7,"registeredAt":1700000000000,"#
        + #""synchronizationId":"sync-1","transactionId":"2000000000000001"}"#)
  }
}

/// The body of an event, byte for byte.
struct PurchaseEventTests {
  private func finalized(_ result: SynchronizationResult, traceparent: String? = nil) -> Synchronization {
    Synchronization(
      id: "sync/1", publisherId: 7, customerId: "42", transactionId: "100", status: .finalized,
      result: result, version: 3, finalizedAt: 1_700_000_000_000, traceparent: traceparent)
  }

  @Test func bodyWithEverything() throws {
    let synchronization = finalized(
      SynchronizationResult(
        .purchaseSynchronized, accessGranted: true, offerId: "S1_US", originalTransactionId: "99",
        environment: "Sandbox"),
      traceparent: "00-trace")
    let event = try #require(Event(of: synchronization))
    #expect(
      String(decoding: event.body, as: UTF8.self)
        == #"{"broadcasterId":7,"data":{"accessGranted":true,"cleengCustomerId":42,"customerId":"42","environment":"Sandbox","#
        + #""offerId":"S1_US","originalTransactionId":"99","result":"PURCHASE_SYNCHRONIZED","synchronizationId":"sync/1","#
        + #""transactionId":"100"},"topic":"inappPurchaseSyncResult"}"#)
    #expect(event.id == "evt_5f5a3fa1e79145e3ab7fa66b48d202ca")
    #expect(event.topic == "inappPurchaseSyncResult")
    #expect(event.customerId == "42")
    #expect(event.publisherId == 7)
    #expect(event.version == 3)
    #expect(event.time == 1_700_000_000_000)
    #expect(event.traceparent == "00-trace")
  }

  @Test func absentFieldsAreAbsent() throws {
    let event = try #require(Event(of: finalized(SynchronizationResult(.internalError))))
    #expect(
      String(decoding: event.body, as: UTF8.self)
        == #"{"broadcasterId":7,"data":{"accessGranted":false,"cleengCustomerId":42,"customerId":"42","result":"INTERNAL_ERROR","#
        + #""synchronizationId":"sync/1","transactionId":"100"},"topic":"inappPurchaseSyncResult"}"#)
    #expect(event.traceparent == nil)
  }

  @Test func `an id that is not a number has no cleengCustomerId`() throws {
    let synchronization = Synchronization(
      id: "s", publisherId: 7, customerId: "user \"1\"", transactionId: "100", status: .finalized,
      result: SynchronizationResult(.internalError), version: 3, finalizedAt: 1)
    let event = try #require(Event(of: synchronization))
    #expect(
      String(decoding: event.body, as: UTF8.self)
        == #"{"broadcasterId":7,"data":{"accessGranted":false,"customerId":"user \"1\"","result":"INTERNAL_ERROR","#
        + #""synchronizationId":"s","transactionId":"100"},"topic":"inappPurchaseSyncResult"}"#)
  }

  @Test func `the id is a hash of the synchronization's whole key`() {
    func id(
      _ publisher: PublisherId, _ synchronization: SynchronizationId, _ transaction: TransactionId,
      _ customer: CustomerId
    ) -> EventId {
      Event.id(
        of: Job(
          synchronizationId: synchronization, publisherId: publisher, customerId: customer, transactionId: transaction,
          registeredAt: 1))
    }
    let ids = [
      id(7, "a", "1", "2"), id(8, "a", "1", "2"), id(7, "b", "1", "2"), id(7, "a", "12", ""), id(7, "a", "1", "3"),
    ]
    #expect(Set(ids).count == ids.count)
    for id in ids {
      #expect(id.text.utf8.count == 36)
      #expect(!id.text.contains("."))
    }
  }

  @Test func `a consumable's event says what to credit, and whether to credit it now`() throws {
    let event = try #require(
      Event(
        of: finalized(
          SynchronizationResult(
            .purchaseSynchronized, accessGranted: true, originalTransactionId: "100",
            consumable: ConsumableGrant(productId: "coins", quantity: 2, isFirstGrant: true)))))
    #expect(
      String(decoding: event.body, as: UTF8.self)
        == #"{"broadcasterId":7,"data":{"accessGranted":true,"cleengCustomerId":42,"customerId":"42","firstGrant":true,"#
        + #""originalTransactionId":"100","productId":"coins","quantity":2,"result":"PURCHASE_SYNCHRONIZED","#
        + #""synchronizationId":"sync/1","transactionId":"100","type":"Consumable"},"topic":"inappPurchaseSyncResult"}"#
    )
  }

  @Test func sameSynchronizationMakesTheSameEvent() throws {
    let synchronization = finalized(SynchronizationResult(.purchaseRevoked, originalTransactionId: "99"))
    let first = try #require(Event(of: synchronization))
    for _ in 1...20 { #expect(Event(of: synchronization) == first) }
  }

  @Test func noEventBeforeTheEnd() {
    let open = Synchronization(id: "a", publisherId: 1, customerId: "1", transactionId: "1", status: .retrying)
    #expect(Event(of: open) == nil)
  }
}
