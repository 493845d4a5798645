import Domain
import JSON
import Testing

/// The text of a claim in Redis.
struct ClaimTests {
  @Test(arguments: ["a", "", "|", "a|b||c", "7|8", "é|ü"]) func roundTrip(id: String) {
    for customer in [1, 42, Int64.max, -1] {
      let claim = Claim(synchronizationId: id, customerId: customer)
      #expect(Claim(encoded: claim.encoded) == claim)
    }
  }

  @Test func encoded() {
    #expect(Claim(synchronizationId: "a|b", customerId: 42).encoded == "42|a|b")
  }

  @Test(arguments: ["", "42", "|a", "x|a", " 42|a", "4 2|a", "9223372036854775808|a"])
  func malformed(text: String) {
    #expect(Claim(encoded: text) == nil)
  }
}

/// Jobs: which ones this code can run, and their form on the wire.
struct JobTests {
  private func job(id: String = "sync-1", transaction: String = "2000000000000001") -> Job {
    Job(
      synchronizationId: id, publisherId: 7, customerId: 42, transactionId: transaction, registeredAt: 1_700_000_000_000
    )
  }

  @Test func soundJobs() {
    #expect(job().defect == nil)
    #expect(job(id: String(repeating: "x", count: 256)).defect == nil)
    #expect(job(transaction: "0").defect == nil)
    #expect(job(transaction: String(repeating: "9", count: 32)).defect == nil)
  }

  @Test(arguments: ["", "12a", "-1", "1.0", " 1", "1\n", "１", "٣", String(repeating: "9", count: 33)])
  func badTransactionId(text: String) {
    #expect(!TransactionIdentifier.isValid(text))
    #expect(job(transaction: text).defect == "transactionId is not 1 to 32 digits")
  }

  @Test func badSynchronizationId() {
    #expect(job(id: "").defect == "synchronizationId is not 1 to 256 bytes")
    #expect(job(id: String(repeating: "x", count: 257)).defect == "synchronizationId is not 1 to 256 bytes")
    #expect(job(id: String(repeating: "é", count: 129)).defect == "synchronizationId is not 1 to 256 bytes")
  }

  private func body(format: Int64) -> [UInt8] {
    let text = String(decoding: job().encoded, as: UTF8.self)
    return Array(text.replacing(#""format":1"#, with: #""format":\#(format)"#).utf8)
  }

  @Test(arguments: [0, -1]) func noFormat(format: Int64) throws {
    #expect(try Job(JSONText(body(format: format))).defect == "format \(format), expected 1")
  }

  @Test(arguments: [2, 3, Int64.max]) func newerFormat(format: Int64) throws {
    // The other members may have any form.
    for body in [body(format: format), Array(#"{"format":\#(format),"transactionId":["1"]}"#.utf8)] {
      #expect(throws: Job.NewerFormat(format: format)) { try Job(JSONText(body)) }
    }
  }

  @Test func jsonRoundTrip() throws {
    let full = Job(
      synchronizationId: "a|\"\\/\u{1}é", publisherId: .max, customerId: 1, transactionId: "1", ipAddress: "192.0.2.1",
      registeredAt: 0, traceparent: "00-x")
    for job in [full, job()] {
      #expect(try Job(JSONText(job.encoded)) == job)
      #expect(try Job(JSONText(Array("{\"new\":[1],".utf8) + job.encoded.dropFirst())) == job)
    }
  }

  /// The names on the wire: jobs of an older process lie in the queues when a newer one starts.
  @Test func wireForm() throws {
    let text = String(decoding: job().encoded, as: UTF8.self)
    #expect(
      text == #"{"customerId":42,"format":1,"publisherId":7,"registeredAt":1700000000000,"#
        + #""synchronizationId":"sync-1","transactionId":"2000000000000001"}"#)
  }
}

/// The body of an event, byte for byte.
struct PurchaseEventTests {
  private func finalized(_ outcome: Outcome, traceparent: String? = nil) -> Synchronization {
    Synchronization(
      id: "sync/1", publisherId: 7, customerId: 42, transactionId: "100", status: .finalized,
      conclusion: Conclusion(outcome: outcome, version: 3, finalizedAt: 1_700_000_000_000, traceparent: traceparent))
  }

  @Test func bodyWithEverything() throws {
    let synchronization = finalized(
      Outcome(
        .purchaseSynchronized, accessGranted: true, offerId: "S1_US", originalTransactionId: "99",
        environment: "Sandbox"),
      traceparent: "00-trace")
    let event = try #require(PurchaseEvent(of: synchronization, id: "evt_1"))
    #expect(
      String(decoding: event.body, as: UTF8.self)
        == #"{"broadcasterId":7,"data":{"accessGranted":true,"cleengCustomerId":42,"environment":"Sandbox","#
        + #""offerId":"S1_US","originalTransactionId":"99","result":"PURCHASE_SYNCHRONIZED","synchronizationId":"sync/1","#
        + #""transactionId":"100"},"topic":"inappPurchaseSyncResult"}"#)
    #expect(event.id == "evt_1")
    #expect(event.publisherId == 7)
    #expect(event.version == 3)
    #expect(event.time == 1_700_000_000_000)
    #expect(event.traceparent == "00-trace")
  }

  @Test func absentFieldsAreAbsent() throws {
    let event = try #require(PurchaseEvent(of: finalized(Outcome(.internalError)), id: "evt_1"))
    #expect(
      String(decoding: event.body, as: UTF8.self)
        == #"{"broadcasterId":7,"data":{"accessGranted":false,"cleengCustomerId":42,"result":"INTERNAL_ERROR","#
        + #""synchronizationId":"sync/1","transactionId":"100"},"topic":"inappPurchaseSyncResult"}"#)
    #expect(event.traceparent == nil)
  }

  @Test func sameSynchronizationMakesTheSameEvent() throws {
    let synchronization = finalized(Outcome(.purchaseRevoked, originalTransactionId: "99"))
    let first = try #require(PurchaseEvent(of: synchronization, id: "evt_1"))
    for _ in 1...20 { #expect(PurchaseEvent(of: synchronization, id: "evt_1") == first) }
  }

  @Test func noEventBeforeTheEnd() {
    let open = Synchronization(id: "a", publisherId: 1, customerId: 1, transactionId: "1", status: .retrying)
    #expect(PurchaseEvent(of: open, id: "evt_1") == nil)
  }
}
