import Domain
import EventLoop
import Fleets
import Formats
import Ledger
import Postgres
import ServerSupport
import Testing

/// Due timers of purchases, against a real PostgreSQL.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct DueTimerTests {
  /// The ledger's own clock decides what is due, so the purchases' ends are far from the tests' `now`.
  private func due(_ lab: CommitLab, most: Int = 10, limit: Int = 10) async throws -> [String] {
    try await Timers(lab.clients[0]).takeDue(
      [Timers.Share(AppKey(publisherId: 7, bundleId: "com.example"), most: most)],
      of: [PublisherShare(publisherId: 7, most: most)], limit: limit
    ) { Issue.record($0) }.map(\.key.originalTransactionId.text)
  }

  @Test func `a due timer is taken by one worker, the latest end first`() async throws {
    try await CommitLab.with { lab in
      // By the ledger's clock these periods ended years ago. By that of the tests they have not.
      for (id, end) in [("100", 10.0), ("200", 20.0), ("300", 30.0)] {
        _ = try await lab.workers[0].finalize(try CommitLab.request("s\(id)", "me", id, of: id, expires: end))
      }
      #expect(try await due(lab, most: 2) == ["300", "200"])
      #expect(try await due(lab, limit: 1) == ["100"])
      #expect(try await due(lab).isEmpty)
    }
  }

  @Test func `a timer that this process cannot read keeps no other from being taken`() async throws {
    try await CommitLab.with(isChecked: false) { lab in
      for id in ["100", "200"] {
        _ = try await lab.workers[0].finalize(try CommitLab.request("s\(id)", "me", id, of: id, expires: 10))
      }
      // A newer process knows this kind.
      _ = try await lab.clients[0].run("UPDATE purchases SET kind = 'Later' WHERE original_transaction_id = '100'")
      var failures: [String] = []
      let taken = try await Timers(lab.clients[0]).takeDue(
        [Timers.Share(AppKey(publisherId: 7, bundleId: "com.example"), most: 10)],
        of: [PublisherShare(publisherId: 7, most: 10)], limit: 10
      ) { failures.append("\($0)") }
      #expect(taken.map(\.key.originalTransactionId) == ["200"])
      #expect(failures.count == 1 && failures[0].contains("timer of 100"))
    }
  }

  @Test func `a commit sets the timer anew, and a look without news too`() async throws {
    try await CommitLab.with { lab in
      _ = try await lab.workers[0].finalize(try CommitLab.request("s1", "me", "100", of: "100", expires: 10))
      #expect(try await due(lab) == ["100"])
      let look = PurchaseUpdate(
        CommitLab.key("100"), [], from: .timer(.told), publisher: CommitLab.publisher)
      #expect(try await lab.workers[0].apply(look).isEmpty)
      #expect(try await due(lab) == ["100"])
      // The next period ends long after today.
      _ = try await lab.workers[0].apply(
        try CommitLab.update("101", of: "100", bought: 10, expires: 30_000, .notification(uuid: "n", reason: .renewed)))
      #expect(try await due(lab).isEmpty)
    }
  }

  @Test func `a hint makes a known purchase due, unless somebody has just looked`() async throws {
    try await CommitLab.with { lab in
      _ = try await lab.workers[0].finalize(try CommitLab.request("s1", "me", "100", of: "100", expires: 30_000))
      let timers = Timers(lab.clients[0])
      #expect(try await due(lab).isEmpty)
      #expect(try await timers.hint(7, ["999"], in: ["Production"]) == false)
      #expect(try await timers.hint(8, ["100"], in: ["Production"]) == false)
      #expect(try await timers.hint(7, ["100", "999"], in: ["Production"]))
      #expect(try await due(lab) == ["100"])
      // It comes later then.
      #expect(try await timers.hint(7, ["100"], in: ["Production"]))
      #expect(try await due(lab).isEmpty)
    }
  }

  @Test func `a hint stays until Apple has answered, whatever comes meanwhile`() async throws {
    try await CommitLab.with { lab in
      _ = try await lab.workers[0].finalize(try CommitLab.request("s1", "me", "100", of: "100", expires: 30_000))
      #expect(try await Timers(lab.clients[0]).hint(7, ["100"], in: ["Production"]))
      let waits = "SELECT count(*) FROM purchases WHERE recheck_at IS NOT NULL AND due_at <= now() + interval '1 hour'"
      #expect(try await lab.number(waits) == 1)
      // A stale notification does not set the timer to the end of the period, nor does Apple's silence.
      for source in [PurchaseUpdate.Source.notification(uuid: "n", reason: .renewed), .timer(.away(until: nil))] {
        _ = try await lab.workers[0].apply(
          PurchaseUpdate(CommitLab.key("100"), [], from: source, publisher: CommitLab.publisher))
        #expect(try await lab.number(waits) == 1)
      }
      // The clock of these tests is years behind the ledger's.
      _ = try await lab.clients[0].run("UPDATE purchases SET recheck_at = to_timestamp(\(CommitLab.now / 1000))")
      _ = try await lab.workers[0].apply(
        PurchaseUpdate(CommitLab.key("100"), [], from: .timer(.told), publisher: CommitLab.publisher))
      #expect(try await lab.number(waits) == 0)
    }
  }
}
