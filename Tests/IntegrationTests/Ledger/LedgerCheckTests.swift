import Domain
import EventLoop
import Fleets
import Ledger
import ServerSupport
import Testing

/// The check finds each row that somebody has changed.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct LedgerCheckTests {
  private static let changes = [
    "UPDATE purchases SET expires_date = expires_date + interval '1 day'",
    "UPDATE purchases SET status = 5, status_date = now()",
    "UPDATE purchases SET version = 0", "UPDATE purchases SET offer_id = 'S2'",
    "UPDATE purchases SET customer_id = NULL, subscription_id = NULL", "UPDATE purchases SET customer_id = 'you'",
    "UPDATE purchases SET renewal_signed_date = now(), renewal_sha256 = 'x'", "DELETE FROM purchases",
    "UPDATE transactions SET revocation_reason = 1", "DELETE FROM transactions",
    "UPDATE transactions SET first_granted_at = now()", "DELETE FROM evidence",
    "UPDATE evidence SET payload = '{}'", "UPDATE ownerships SET ended_at = now()", "DELETE FROM ownerships",
    "UPDATE customers SET told = '[]'", "UPDATE customers SET version = 2", "DELETE FROM customers",
    "UPDATE events SET version = 3 WHERE topic = 'entitlementsChanged'",
    // The worker remembers the chains that it has written.
    "DELETE FROM certificate_chains",
  ]

  @Test func `a changed row is found`() async throws {
    try await CommitLab.with(isChecked: false) { lab in
      for (number, change) in Self.changes.enumerated() {
        let name = "\(number)"
        _ = try await lab.workers[0].finalize(CommitLab.request("s" + name, "c" + name, name, of: name))
        #expect(try await lab.differences() == [])
        try await lab.clients[0].run(change)
        #expect(try await !lab.differences().isEmpty, "\(change)")
        for table in ["purchases", "transactions", "evidence", "ownerships", "customers", "events", "outbox"] {
          try await lab.clients[0].run("DELETE FROM \(table)")
        }
      }
    }
  }

  @Test func `a step that does not fit is found`() async throws {
    try await CommitLab.with(isChecked: false) { lab in
      for (number, expires) in [30.0, 40, 50].enumerated() {
        _ = try await lab.workers[0].finalize(
          CommitLab.request("s\(number)", "me", "1", of: "1", expires: expires, signed: Double(number)))
      }
      #expect(try await lab.differences() == [])
      try await lab.clients[0].run("DELETE FROM events WHERE topic = 'entitlementsChanged' AND version = 2")
      #expect(try await lab.differences().count == 2)
    }
  }

  @Test func `an access that has ended since is no difference`() async throws {
    try await CommitLab.with { lab in
      _ = try await lab.workers[0].finalize(CommitLab.request("s1", "me", "1", of: "1", expires: 1))
      let later = try await LedgerCheck.differences(
        in: lab.clients[0], publishers: [CommitLab.publisher], now: CommitLab.now + 10 * 86_400_000)
      #expect(later == [])
    }
  }
}
