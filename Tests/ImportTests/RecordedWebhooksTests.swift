import Domain
import Formats
import JSON
import Testing

@testable import Import

/// Recorded webhook bodies of another system, as rows that claim access. Each has one event.
struct RecordedWebhooksTests {
  private let now: Int64 = 1_800_000_000_000

  private func read(_ lines: [String]) -> RecordedWebhooks {
    var left = lines[...]
    return RecordedWebhooks(RevenueCatBodies(), now: now) { () throws(ImportProblem) in
      left.popFirst().map { Array($0.utf8) }
    }
  }

  /// Each row as `line customer transaction end`.
  private func rows(_ recorded: RecordedWebhooks) -> [String] {
    recorded.rows.map { row in
      "\(row.line) \(row.customerId) \(row.transactionId) \(row.claim.expiresAt.map(String.init) ?? "ever")"
    }
  }

  private func event(
    _ type: String, at time: Int64?, of customer: String = "ann", _ transaction: String? = "100",
    ends end: Int64? = nil,
    store: String = "APP_STORE",
    adding more: String = ""
  ) -> String {
    var members = [#""type":"\#(type)""#, #""app_user_id":"\#(customer)""#, #""store":"\#(store)""#]
    if let time { members.append(#""event_timestamp_ms":\#(time)"#) }
    if let transaction {
      members.append(#""transaction_id":"\#(transaction)9","original_transaction_id":"\#(transaction)""#)
    }
    members.append(#""expiration_at_ms":\#(end.map(String.init) ?? "null")"#)
    return #"{"api_version":"1.0","event":{\#(members.joined(separator: ","))\#(more)}}"#
  }

  @Test func `the newest event of a purchase counts, in whatever order they stand`() {
    let lines = [
      event("RENEWAL", at: 20, ends: 300), event("INITIAL_PURCHASE", at: 10, ends: 200),
      event("INITIAL_PURCHASE", at: 15, of: "bob", "200", ends: 150),
      event("EXPIRATION", at: 16, of: "bob", "200", ends: 150),
      event("NON_RENEWING_PURCHASE", at: 1, "300"),
    ]
    #expect(rows(read(lines)) == ["1 ann 100 300", "4 bob 200 16", "5 ann 300 ever"])
    // Of two at one time, the later line counts; one without a time is as new as the newest before it.
    let equal = [event("RENEWAL", at: 20, ends: 300), event("RENEWAL", at: 20, ends: 301)]
    #expect(rows(read(equal)) == ["2 ann 100 301"])
    let timeless = [event("RENEWAL", at: 20, ends: 300), event("RENEWAL", at: nil, ends: 301)]
    #expect(rows(read(timeless)) == ["2 ann 100 301"])
  }

  @Test func `an event says until when there is access`() throws {
    func end(_ line: String) -> Int64? { read([line]).rows.first?.claim.expiresAt }
    #expect(end(event("BILLING_ISSUE", at: 20, ends: 30, adding: #","grace_period_expiration_at_ms":50"#)) == 50)
    #expect(end(event("CANCELLATION", at: 20, ends: 30, adding: #","cancel_reason":"UNSUBSCRIBE""#)) == 30)
    #expect(end(event("CANCELLATION", at: 20, ends: 30, adding: #","cancel_reason":"CUSTOMER_SUPPORT""#)) == 20)
    #expect(end(event("CANCELLATION", at: 20, adding: #","cancel_reason":"CUSTOMER_SUPPORT""#)) == 20)
    #expect(end(event("EXPIRATION", at: 20, ends: 10)) == 10)
    #expect(end(event("EXPIRATION", at: nil)) == 0)
    let renewed = event("RENEWAL", at: 20, adding: #","purchased_at_ms":5,"entitlement_ids":["pro","x"]"#)
    let row = try #require(read([renewed]).rows.first)
    #expect(row.claim == ClaimedPurchase(offerId: "pro", purchasedAt: 5))
  }

  @Test func `a transfer moves what its givers had until then`() {
    func transfer(at time: Int64, from: String, to: String) -> String {
      #"{"event":{"type":"TRANSFER","event_timestamp_ms":\#(time),"transferred_from":[\#(from)],"transferred_to":[\#(to)]}}"#
    }
    let lines = [
      event("INITIAL_PURCHASE", at: 10, ends: 300),
      transfer(at: 20, from: #""ann","$RCAnonymousID:1""#, to: #""$RCAnonymousID:2","bob""#),
      event("INITIAL_PURCHASE", at: 30, "200", ends: 400), transfer(at: 5, from: #""ann""#, to: #""eve""#),
    ]
    #expect(rows(read(lines)) == ["1 bob 100 300", "3 ann 200 400"])
    let again =
      lines + [transfer(at: 40, from: #""bob""#, to: #""cid""#), transfer(at: 41, from: #""cid""#, to: #""cid""#)]
    #expect(rows(read(again)) == ["1 cid 100 300", "3 ann 200 400"])
  }

  @Test func `bodies about nothing at Apple's store are ignored, and wrong ones are problems`() {
    let recorded = read(
      [
        event("TEST", at: 1), event("RENEWAL", at: 1, store: "PLAY_STORE"), event("SUBSCRIBER_ALIAS", at: 1, nil), "",
        #"{"event":{"type":"EXPERIMENT_ENROLLMENT"}}"#, "{}", "[", event("RENEWAL", at: 1, "GPA.1"),
        event("RENEWAL", at: .max), event("RENEWAL", at: 1, of: ""), event("RENEWAL", at: 1, ends: -1),
      ])
    #expect(recorded.rows.isEmpty && recorded.ignored == 4)
    #expect(recorded.problems.map(\.line) == [6, 7, 8, 9, 10, 11])
  }

  @Test func `a file of another kind is one problem`() {
    let recorded = read(["[{\"event\":{}}]", event("RENEWAL", at: 1)])
    #expect(recorded.rows.isEmpty && recorded.problems.count == 1 && recorded.ignored == 0)
    #expect(recorded.problems.first?.cause == "the file is one JSON array")
  }
}
