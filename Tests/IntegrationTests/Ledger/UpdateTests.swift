import Domain
import EventLoop
import Harness
import Ledger
import Postgres
import TestSupport
import Testing

/// Notifications and timers, against a real PostgreSQL.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct UpdateTests {
  private nonisolated static func update(
    _ transaction: String, of original: String, bought: Double = -1, expires: Double = 30, signed: Double = 0,
    token: String? = nil, insteadOf previous: String? = nil,
    _ source: PurchaseUpdate.Source = .notification(uuid: "n", reason: .renewed)
  ) throws -> PurchaseUpdate {
    let piece = try CommitLab.evidence(
      transaction, of: original, "monthly", .autoRenewable, bought: bought, expires: expires, signed: signed,
      token: token,
      insteadOf: previous)
    return PurchaseUpdate(CommitLab.key(original), [piece], from: source, publisher: CommitLab.publisher)
  }

  private nonisolated static func notification(_ uuid: String, _ publisher: Int64 = 7) -> KeptNotification {
    KeptNotification(
      publisherId: publisher, uuid: uuid, type: "DID_RENEW", environment: "Production", bundleId: "com.example",
      originalTransactionId: "100", signedDate: CommitLab.now, source: .apple, body: Array("text of \(uuid)".utf8))
  }

  // MARK: Notifications

  @Test func `a notification is kept once for each publisher, and open until it is applied`() async throws {
    try await CommitLab.with { lab in
      let store = NotificationStore(lab.clients[0])
      let rows = [Self.notification("n1"), Self.notification("n1", 8), Self.notification("n2")]
      let keys = rows.map { NotificationKey(publisherId: $0.publisherId, uuid: $0.uuid) }
      #expect(try await store.keep(rows) == Set(keys))
      #expect(try await store.keep(rows).isEmpty)
      #expect(try await store.open(keys)[keys[2]] == "text of n2")
      try await store.finish([keys[2]], now: CommitLab.now)
      #expect(Set(try await store.open(keys).keys) == Set(keys[..<2]))
    }
  }

  @Test func `a commit applies the notification with what it proves`() async throws {
    try await CommitLab.with { lab in
      _ = try await lab.workers[0].finalize(try CommitLab.request("s1", "me", "100", of: "100", expires: 0.001))
      let store = NotificationStore(lab.clients[0])
      _ = try await store.keep([Self.notification("n1")])
      let update = try Self.update(
        "101", of: "100", bought: 0, expires: 30, signed: 0.1, .notification(uuid: "n1", reason: .renewed))
      let events = try await lab.workers[0].apply(update)
      #expect(events.map(\.topic).contains(EventTopic.purchaseUpdated))
      #expect(try await store.open([NotificationKey(publisherId: 7, uuid: "n1")]).isEmpty)
      #expect(try await lab.workers[0].apply(update).isEmpty)
      let record = try await PurchaseReader(lab.clients[0]).purchase(7, "100", in: ["Production"])
      #expect(record?.purchase.deciding.transactionId == "101")
      #expect(record?.purchase.owner?.customerId == "me")
      let kept = try await lab.clients[0].run(
        PostgresQuery(PostgresStatement("test", "SELECT is_news, due_at IS NULL FROM notifications")))
      #expect(kept.map { $0.bool(0) } == [true] && kept.map { $0.bool(1) } == [true])
    }
  }

  @Test func `two workers apply one set of notifications in any order, and the ledger is whole`() async throws {
    try await CommitLab.with(workers: 2) { lab in
      var updates: [PurchaseUpdate] = []
      for period in 0..<6 {
        updates.append(
          try Self.update(
            "\(100 + period)", of: "100", bought: Double(period) * 30 - 200, expires: Double(period) * 30 - 170,
            signed: Double(period) * 30 - 200, .notification(uuid: "n\(period)", reason: .renewed)))
      }
      let tasks = (updates + updates).shuffled().enumerated().map { number, update in
        Task { @LoopActor in try await lab.workers[number % 2].apply(update) }
      }
      var events = 0
      for task in tasks { events += try await task.value.count }
      #expect((1...6).contains(events))
      let record = try await PurchaseReader(lab.clients[0]).purchase(7, "100", in: ["Production"])
      #expect(record?.purchase.transactions.count == 6)
      #expect(record?.purchase.deciding.transactionId == "105")
    }
  }

  @Test func `a customer's token claims the purchase in the commit`() async throws {
    try await CommitLab.with { lab in
      let token = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
      _ = try await CustomerStore(lab.clients[0]).put(7, Customer(id: "me", appAccountToken: token))
      let update = try Self.update("100", of: "100", token: token)
      let events = try await lab.workers[0].apply(update)
      #expect(events.map(\.topic) == [EventTopic.entitlementsChanged, EventTopic.purchaseUpdated])
      let record = try await PurchaseReader(lab.clients[0]).purchase(7, "100", in: ["Production"])
      #expect(record?.ownerships.map(\.cause) == ["appAccountToken"])
    }
  }

  @Test func `an upgrade under a new original id follows the owner, whichever the ledger gets first`() async throws {
    try await CommitLab.with { lab in
      for (old, new, isNewFirst) in [("100", "200", false), ("300", "400", true)] {
        let update = try Self.update(
          new, of: new, insteadOf: old, .notification(uuid: "u\(new)", reason: .planChanged))
        if isNewFirst { _ = try await lab.workers[0].apply(update) }
        _ = try await lab.workers[0].finalize(try CommitLab.request("s\(old)", "me", old, of: old))
        if !isNewFirst { _ = try await lab.workers[0].apply(update) }
        let record = try await PurchaseReader(lab.clients[0]).purchase(7, new, in: ["Production"])
        #expect(record?.purchase.owner?.customerId == "me", "\(old)")
        #expect(record?.ownerships.map(\.cause) == ["upgrade"])
      }
    }
  }

  // MARK: Timers

  /// The ledger's own clock decides what is due, so the purchases' ends are far from the tests' `now`.
  private func due(_ lab: CommitLab, most: Int = 10, limit: Int = 10) async throws -> [String] {
    try await Timers(lab.clients[0]).takeDue(
      [Timers.Share(publisherId: 7, bundleId: "com.example", most: most)], limit: limit
    ).map(\.key.originalTransactionId)
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
        try Self.update("101", of: "100", bought: 10, expires: 30_000, .notification(uuid: "n", reason: .renewed)))
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
