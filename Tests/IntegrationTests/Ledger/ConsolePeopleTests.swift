import Domain
import EventLoop
import Fleets
import Formats
import Ledger
import Postgres
import ServerSupport
import Testing

/// What the console reads about people's actions, and what it finds by a webhook's id, over a ledger.
@Suite(.enabled(if: TestServers.current != nil, "\(TestServers.hint)"), .sharingServers)
@LoopActor
struct ConsolePeopleTests {
  private typealias Given = LedgerOfPurchases

  private func moments(
    _ ledger: Given, of customer: CustomerId, limit: Int = 50
  ) async throws -> ConsoleTimeline.Reading {
    let found = await ConsoleTimeline(ledger.postgres).moments(
      of: CustomerKey(publisherId: 7, id: customer), limit: limit, until: .now + .seconds(60)
    ) { Issue.record($0) }
    #expect(found.missing == [])
    return found
  }

  @Test func `a timeline has the end of an ownership, and who ended it`() async throws {
    try await Given.with { ledger in
      for (id, customer) in [("100", "ann"), ("200", "bob")] as [(String, CustomerId)] {
        try await ledger.register(id, for: customer, as: SynchronizationId("sync-\(id)"))
        let release = PurchaseRelease(ledger.postgres)
        guard
          let answer = try await release.release(
            Given.key(id), publisher: Given.publisher(), by: "ada", now: Given.now + Given.day)
        else {
          Issue.record("the purchase is not known")
          continue
        }
        answer.takeTold().leaveInOutbox()
      }
      try await ledger.register("100", for: "cid", as: "sync-3")
      _ = try await ledger.texts(
        "UPDATE ownerships SET began_at = began_at + interval '2 days' WHERE customer_id = 'cid'")
      // The entries have PostgreSQL's clock, and the periods the tests'.
      _ = try await ledger.postgres.run(
        PostgresQuery(.moveAudit, [.time(Given.now + Given.day), .time(Given.now)]))
      let ann = try await moments(ledger, of: "ann")
      let end = try #require(ann.moments.first { $0.what == "end of ownership" })
      #expect(end.kind == .ownership && end.about == "100" && end.at == Given.now + Given.day)
      #expect(ann.moments.contains { $0.kind == .ownership && $0.what == "registration" && $0.detail == "over" })
      let changes = ann.moments.filter { $0.kind == .change }
      #expect(changes.map(\.what) == ["purchase.released"] && changes.map(\.detail) == ["operator:ada"])
      #expect(changes.map(\.about) == ["100"])
      // It was released before the next customer came.
      #expect(try await moments(ledger, of: "cid").moments.contains { $0.kind == .change } == false)
      #expect(!ann.hasMore)
      let cut = try await moments(ledger, of: "ann", limit: 1)
      #expect(cut.moments.count == 1 && cut.hasMore)
    }
  }

  @Test func `a timeline's events say why`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann", as: "sync-1")
      let events = try await moments(ledger, of: "ann").moments.filter { $0.kind == .event }
      let result = try #require(events.first { $0.what == EventTopic.synchronizationResult.text })
      #expect(result.about == "100" && result.detail == "PURCHASE_SYNCHRONIZED")
      let change = try #require(events.first { $0.what == EventTopic.entitlementsChanged.text })
      #expect(change.about == "S1" && change.detail?.hasPrefix("access") == true)
      _ = try await ledger.postgres.run(PostgresQuery(.lengthenEvents))
      let long = try await moments(ledger, of: "ann").moments.filter { $0.kind == .event }
      #expect(long.count == events.count && long.allSatisfy { $0.detail == nil && $0.about == nil })
    }
  }

  @Test func `what people did again for a customer stands in the timeline`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann", as: "sync-1")
      try await ledger.register("200", for: "bob", as: "sync-2")
      let events = try await ledger.texts("SELECT id FROM events WHERE customer_id = 'ann' ORDER BY id LIMIT 1")
      let event = try #require(events.first)
      let details = [
        ("event.resent", "main", "{\"eventId\":\"\(event)\"}"), ("event.resent", "main", #"{"eventId":"other"}"#),
        ("jobs.retried", "jobs", #"{"count":1,"filter":{"id":"sync-1","publisher":7}}"#),
        ("jobs.retried", "jobs", #"{"count":1,"filter":{"id":"sync-2","publisher":7}}"#),
        ("jobs.retried", "jobs", #"{"count":9,"filter":{"cause":"network"}}"#), ("jobs.retried", "jobs", "\u{e4}?"),
      ]
      for (publisher, person) in [(7, "ada"), (8, "eve")] as [(PublisherId, String)] {
        let entries = details.map {
          AuditEntry(publisherId: publisher, operator: person, action: $0.0, subject: $0.1, detail: Array($0.2.utf8))
        }
        _ = try await ledger.postgres.run(AuditEntry.insert(entries))
      }
      let changes = try await moments(ledger, of: "ann").moments.filter { $0.kind == .change }
      #expect(Set(changes.map { "\($0.what) \($0.id)" }) == ["event.resent \(event)", "jobs.retried sync-1"])
      #expect(changes.allSatisfy { $0.detail == "operator:ada" } && changes.count == 2)
    }
  }

  @Test func `only the console reads from where a person did something`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann")
      let note = CustomerNote(
        id: NoteId(random: Array(repeating: 1, count: 16)),
        customer: CustomerKey(publisherId: 7, id: "ann"), text: "x", person: "ada", createdAt: Given.now)
      try await AuditEntry.$personAddress.withValue("203.0.113.7") {
        #expect(try await CustomerNotes(ledger.postgres).add(note) == .kept)
        try await CustomerStore(ledger.postgres).noteExport(note.customer, by: "ada")
        try await OperatorAudit(ledger.postgres, name: "ada")
          .note("jobs.retried", "jobs", of: [7], filter: Array("{}".utf8))
      }
      let entries = try await ConsoleAudit(ledger.postgres).entries(of: [7], after: nil, limit: 3).rows
      #expect(entries.map(\.address) == ["203.0.113.7", "203.0.113.7", "203.0.113.7"])
      let details = entries.map { String(decoding: $0.detail, as: UTF8.self) }
      #expect(details == [#"{"count":1,"filter":{}}"#, "{}", "{}"])
      let page = try await AuditLog(ledger.postgres).entries(7, before: nil, limit: 9)
      let texts = page.entries.map { String(decoding: $0.json, as: UTF8.self) }
      #expect(texts.count >= 3 && !texts.contains { $0.contains("203.0.113.7") || $0.contains("address") }, "\(texts)")
      #expect(texts.first?.contains(#""detail":{"count":1,"filter":{}}"#) == true)
      let export = try await CustomerStore(ledger.postgres).export(7, "ann", now: Given.now)
      let document = String(decoding: try #require(export), as: UTF8.self)
      #expect(document.contains("customer.noted") && !document.contains("203.0.113.7"))
    }
  }

  @Test func `a webhook's id finds what is kept of the delivery`() async throws {
    try await DeliveryLedgerTests.with { (bench) async throws in
      let finder = ConsoleFinder(bench.ledger)
      func find(_ text: String, among publishers: [PublisherId] = [1, 2]) async throws -> [ConsoleHit] {
        try await finder.find(text, among: publishers, ConsoleHit.Kind.allCases)
      }
      try await bench.end(try await bench.event(), among: ["main", "other"], .delivered)
      #expect(try await find("evt_1").map(\.kind) == [.event])
      try await bench.ledger.execute("DELETE FROM events")
      #expect(try await find("evt_1") == [ConsoleHit(kind: .delivery, publisherId: 1, detail: "t")])
      #expect(try await find("evt_1", among: [2]) == [])

      let key = NotificationKey(publisherId: 1, uuid: "0a0b0c0d-0000-4000-8000-000000000001")
      let id = try #require(Delivery.id(of: key))
      #expect(try await find(id.text) == [])
      _ = try await NotificationStore(bench.ledger).keep([
        KeptNotification(
          publisherId: 1, uuid: key.uuid, type: "TEST", environment: "Production", bundleId: "app",
          originalTransactionId: nil, signedDate: 1, source: .apple, body: [0x61])
      ])
      #expect(try await find(id.text) == [ConsoleHit(kind: .notification, publisherId: 1, detail: "TEST")])
      #expect(try await find(id.text, among: [2]) == [])
      try await bench.ledger.execute("UPDATE attempts SET event_id = '\(id.text)'")
      #expect(try await find(id.text).map(\.kind) == [.delivery])
    }
  }

  @Test func `signed data comes as Apple signed it, and the newest renewal counts`() async throws {
    try await Given.with { ledger in
      try await ledger.register("100", for: "ann")
      let (purchase, time) = (Given.key("100"), Duration.seconds(60))
      let pieces = try await ConsoleEvidence.newest(of: purchase, limit: 5, within: time, ledger.postgres)
      #expect(pieces.map(\.jws) == ["\u{1}.Ag.Aw"])
      #expect(try await RenewalPayloads.newest(of: [purchase], within: time, ledger.postgres) == [:])
      for (sha, signed, text) in [(1, 5, "old"), (2, 9, "lesser"), (3, 9, "newest")] as [(Int, Int64, String)] {
        _ = try await ledger.postgres.run(
          PostgresQuery(.keepRenewal, [.bytes([UInt8(sha)]), .time(signed), .bytes(Array(text.utf8))]))
      }
      let other = Given.key("100", in: "Sandbox")
      let found = try await RenewalPayloads.newest(of: [other, purchase], within: time, ledger.postgres)
      #expect(found == [purchase: Array("newest".utf8)])
      #expect(try await RenewalPayloads.newest(of: [], within: time, ledger.postgres) == [:])
      // No chain is there for it.
      let all = try await ConsoleEvidence.newest(of: purchase, limit: 9, within: .seconds(60), ledger.postgres)
      #expect(all.count == 4 && all.filter { $0.jws == nil }.count == 3)
    }
  }

  @Test func `the ledger says how large it is`() async throws {
    try await Given.with { ledger in
      let size = try await ConsoleLedger.size(within: .seconds(60), ledger.postgres)
      #expect((size ?? 0) > 1_000_000)
    }
  }
}

extension PostgresStatement {
  fileprivate static let moveAudit = PostgresStatement(
    "move audit in a test",
    "UPDATE audit SET at = CASE WHEN action = 'purchase.released' THEN $1::timestamptz ELSE $2::timestamptz END")

  fileprivate static let lengthenEvents = PostgresStatement(
    "lengthen events in a test", "UPDATE events SET body = body || convert_to(repeat(' ', 20000), 'UTF8')")

  fileprivate static let keepRenewal = PostgresStatement(
    "keep a renewal in a test",
    """
    INSERT INTO evidence (publisher_id, environment, original_transaction_id, payload_sha256, kind, signed_date, source,
      received_at, header_sha256, payload, signature)
    VALUES (7, 'Production', '100', $1, 'renewalInfo', $2, 'serverAPI', now(), '\\x00', $3, '\\x01')
    """)
}
