import Domain
import Formats
import JSON
import Testing

@testable import Import

/// Recorded webhook bodies of other systems, as rows that claim access.
struct RecordedWebhooksTests {
  private let now: Int64 = 1_800_000_000_000

  private func read(_ preset: WebhookPreset, _ lines: [String]) -> RecordedWebhooks {
    var left = lines[...]
    return RecordedWebhooks(preset, now: now) { () throws(ImportProblem) in left.popFirst().map { Array($0.utf8) } }
  }

  /// Each row as `line customer transaction end`.
  private func rows(_ recorded: RecordedWebhooks) -> [String] {
    recorded.rows.map { row in
      "\(row.line) \(row.customerId) \(row.transactionId) \(row.claim.expiresAt.map(String.init) ?? "ever")"
    }
  }

  // MARK: One event a body

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
    #expect(rows(read(.revenuecat, lines)) == ["1 ann 100 300", "4 bob 200 16", "5 ann 300 ever"])
    // Of two at one time, the later line counts; one without a time is as new as the newest before it.
    let equal = [event("RENEWAL", at: 20, ends: 300), event("RENEWAL", at: 20, ends: 301)]
    #expect(rows(read(.revenuecat, equal)) == ["2 ann 100 301"])
    let timeless = [event("RENEWAL", at: 20, ends: 300), event("RENEWAL", at: nil, ends: 301)]
    #expect(rows(read(.revenuecat, timeless)) == ["2 ann 100 301"])
  }

  @Test func `an event says until when there is access`() throws {
    func end(_ line: String) -> Int64? { read(.revenuecat, [line]).rows.first?.claim.expiresAt }
    #expect(end(event("BILLING_ISSUE", at: 20, ends: 30, adding: #","grace_period_expiration_at_ms":50"#)) == 50)
    #expect(end(event("CANCELLATION", at: 20, ends: 30, adding: #","cancel_reason":"UNSUBSCRIBE""#)) == 30)
    #expect(end(event("CANCELLATION", at: 20, ends: 30, adding: #","cancel_reason":"CUSTOMER_SUPPORT""#)) == 20)
    #expect(end(event("CANCELLATION", at: 20, adding: #","cancel_reason":"CUSTOMER_SUPPORT""#)) == 20)
    #expect(end(event("EXPIRATION", at: 20, ends: 10)) == 10)
    #expect(end(event("EXPIRATION", at: nil)) == 0)
    let renewed = event("RENEWAL", at: 20, adding: #","purchased_at_ms":5,"entitlement_ids":["pro","x"]"#)
    let row = try #require(read(.revenuecat, [renewed]).rows.first)
    #expect(row.claim == ImportRow.Claim(offerId: "pro", purchasedAt: 5))
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
    #expect(rows(read(.revenuecat, lines)) == ["1 bob 100 300", "3 ann 200 400"])
    let again =
      lines + [transfer(at: 40, from: #""bob""#, to: #""cid""#), transfer(at: 41, from: #""cid""#, to: #""cid""#)]
    #expect(rows(read(.revenuecat, again)) == ["1 cid 100 300", "3 ann 200 400"])
  }

  @Test func `bodies about nothing at Apple's store are ignored, and wrong ones are problems`() {
    let recorded = read(
      .revenuecat,
      [
        event("TEST", at: 1), event("RENEWAL", at: 1, store: "PLAY_STORE"), event("SUBSCRIBER_ALIAS", at: 1, nil), "",
        #"{"event":{"type":"EXPERIMENT_ENROLLMENT"}}"#, "{}", "[", event("RENEWAL", at: 1, "GPA.1"),
        event("RENEWAL", at: .max), event("RENEWAL", at: 1, of: ""), event("RENEWAL", at: 1, ends: -1),
      ])
    #expect(recorded.rows.isEmpty && recorded.ignored == 4)
    #expect(recorded.problems.map(\.line) == [6, 7, 8, 9, 10, 11])
  }

  @Test func `a file of another kind is one problem`() {
    let recorded = read(.revenuecat, ["[{\"event\":{}}]", event("RENEWAL", at: 1)])
    #expect(recorded.rows.isEmpty && recorded.problems.count == 1 && recorded.ignored == 0)
    #expect(recorded.problems.first?.cause == "the file is one JSON array")
  }

  // MARK: All purchases of a customer

  private func updated(_ customer: String, at time: String? = nil, _ purchases: String) -> String {
    let notice = time.map { #","notification":{"reason":"RENEWED","id":"1","date":"\#($0)"}"# } ?? ""
    return
      #"{"type":"purchases.updated","password":"p","applicationUsername":"\#(customer)","purchases":{\#(purchases)}\#(notice)}"#
  }

  private func listed(_ product: String, _ id: String, _ more: String = "", platform: String = "apple") -> String {
    #""apple:\#(product)":{"productId":"apple:\#(product)","platform":"\#(platform)","purchaseId":"\#(platform):\#(id)"\#(more)}"#
  }

  private func ends(_ day: Int) -> String { #","expirationDate":"1970-01-0\#(day)T00:00:00.000Z""# }

  @Test func `the newest body of a customer has all purchases`() {
    let day = Int64.millisecondsOfDay
    let lines = [
      updated("ann", at: "1970-01-03T00:00:00Z", listed("m", "100", ends(8))),
      updated("ann", at: "1970-01-02T00:00:00Z", listed("m", "100", ends(5)) + "," + listed("old", "101", ends(2))),
      updated("bob", listed("m", "200", ends(9)) + "," + listed("x", "201", platform: "google")),
      updated("bob", listed("y", "202")),
    ]
    #expect(rows(read(.iaptic, lines)) == ["1 ann 100 \(7 * day)", "4 bob 202 ever"])
    // The purchase has another customer since.
    let moved = lines + [updated("eve", at: "1970-01-04T00:00:00Z", listed("m", "100", ends(8)))]
    #expect(rows(read(.iaptic, moved)) == ["4 bob 202 ever", "5 eve 100 \(7 * day)"])
  }

  @Test func `a purchase of the body says until when there is access`() {
    let day = Int64.millisecondsOfDay
    func end(_ purchases: String, at time: String? = "1970-01-03T00:00:00Z") -> Int64?? {
      read(.iaptic, [updated("ann", at: time, purchases)]).rows.first.map(\.claim.expiresAt)
    }
    #expect(end(listed("m", "1", ends(8) + #","cancelationReason":"Customer""#)) == 7 * day)
    #expect(end(listed("m", "1", ends(8) + #","isExpired":true"#)) == 2 * day)
    #expect(end(listed("m", "1", ends(2) + #","isExpired":true"#)) == day)
    #expect(end(listed("m", "1", #","isExpired":true"#), at: nil) == now)
    #expect(end(listed("m", "1", #","cancelationReason":"Customer""#)) == 2 * day)
    #expect(end(listed("m", "1", #","cancelationReason":"""#)) == .some(nil))
    // Two products of one subscription.
    #expect(end(listed("m", "1", ends(5)) + "," + listed("y", "1", ends(6))) == 5 * day)
    #expect(end(listed("m", "1", ends(5)) + "," + listed("y", "1")) == .some(nil))
    for nothing in [#","isPending":true"#, #","isConsumed":true"#] {
      #expect(read(.iaptic, [updated("ann", listed("m", "1", nothing))]).rows.isEmpty)
    }
  }

  @Test func `other bodies are ignored, and wrong ones are problems`() {
    let recorded = read(
      .iaptic,
      [
        #"{"type":"test","password":"p"}"#, #"{"type":"TEST"}"#, updated("", listed("m", "1")),
        updated("ann", listed("m", "x")), updated("ann", at: "yesterday", listed("m", "1")),
        updated("ann", listed("m", "1", #","expirationDate":5"#)), #"{"type":"purchases.updated","purchases":{}}"#,
      ])
    #expect(recorded.rows.isEmpty && recorded.ignored == 2)
    #expect(recorded.problems.map(\.line) == [3, 4, 5, 6, 7])
  }
}
