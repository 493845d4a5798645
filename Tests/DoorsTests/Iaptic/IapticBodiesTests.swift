import Domain
import Formats
import Import
import Testing

@testable import Doors

/// Recorded webhook bodies of iaptic, as rows that claim access. Each lists all purchases of a customer.
struct IapticBodiesTests {
  private let now: Int64 = 1_800_000_000_000

  private func read(_ lines: [String]) -> RecordedWebhooks {
    var left = lines[...]
    return RecordedWebhooks(IapticBodies(), now: now) { () throws(ImportProblem) in
      left.popFirst().map { Array($0.utf8) }
    }
  }

  /// Each row as `line customer transaction end`.
  private func rows(_ recorded: RecordedWebhooks) -> [String] {
    recorded.rows.map { row in
      "\(row.line) \(row.customerId) \(row.transactionId) \(row.claim.expiresAt.map(String.init) ?? "ever")"
    }
  }

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
    #expect(rows(read(lines)) == ["1 ann 100 \(7 * day)", "4 bob 202 ever"])
    // The purchase has another customer since.
    let moved = lines + [updated("eve", at: "1970-01-04T00:00:00Z", listed("m", "100", ends(8)))]
    #expect(rows(read(moved)) == ["4 bob 202 ever", "5 eve 100 \(7 * day)"])
  }

  @Test func `a purchase of the body says until when there is access`() {
    let day = Int64.millisecondsOfDay
    func end(_ purchases: String, at time: String? = "1970-01-03T00:00:00Z") -> Int64?? {
      read([updated("ann", at: time, purchases)]).rows.first.map(\.claim.expiresAt)
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
      #expect(read([updated("ann", listed("m", "1", nothing))]).rows.isEmpty)
    }
  }

  @Test func `other bodies are ignored, and wrong ones are problems`() {
    let recorded = read(
      [
        #"{"type":"test","password":"p"}"#, #"{"type":"TEST"}"#, updated("", listed("m", "1")),
        updated("ann", listed("m", "x")), updated("ann", at: "yesterday", listed("m", "1")),
        updated("ann", listed("m", "1", #","expirationDate":5"#)), #"{"type":"purchases.updated","purchases":{}}"#,
      ])
    #expect(recorded.rows.isEmpty && recorded.ignored == 2)
    #expect(recorded.problems.map(\.line) == [3, 4, 5, 6, 7])
  }
}
