import Domain
import EventLoop
import Fleets
import Formats
import Ledger
import Postgres
import ServerSupport
import Testing

/// What the ledger does for operators' commands.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct OperatorTests {
  private let all = NotificationStore.AsideFilter(limit: 100)

  /// Four notifications that are put aside, one a minute, and one that is not.
  private func with(_ body: @LoopActor (NotificationStore, PostgresClient) async throws -> Void) async throws {
    try await LedgerDatabase.migrated { ledger async throws in
      let store = NotificationStore(ledger)
      for (uuid, publisher, app) in [
        ("a", 1, "com.one"), ("b", 1, "com.two"), ("c", 2, "com.one"), ("d", 2, "com.one"),
      ] as [(NotificationUUID, Int, String)] {
        _ = try await store.keep([
          KeptNotification(
            publisherId: PublisherId(Int64(publisher)), uuid: uuid, type: "TEST", environment: "Production",
            bundleId: BundleId(app), signedDate: 1, source: .apple, body: [0x61])
        ])
      }
      _ = try await store.keep([
        KeptNotification(
          publisherId: 1, uuid: "open", type: "TEST", environment: "Production", bundleId: "com.one", signedDate: 1,
          source: .apple, body: [0x61])
      ])
      try await ledger.execute(
        """
        UPDATE notifications SET put_aside_reason = 'why', due_at = NULL,
          put_aside_at = '2026-01-01T00:00:00Z'::timestamptz + (ascii(uuid) - 97) * interval '1 minute'
        WHERE uuid <> 'open'
        """)
      try await body(store, ledger)
    }
  }

  private func listed(_ store: NotificationStore, _ filter: NotificationStore.AsideFilter) async throws -> [String] {
    try await store.listPutAside(filter).map(\.key.uuid.text)
  }

  @Test func `notifications that are put aside are listed by publisher, app, id and age, the oldest first`()
    async throws
  {
    try await with { store, _ in
      #expect(try await listed(store, all) == ["a", "b", "c", "d"])
      let first = try #require(try await store.listPutAside(all).first)
      #expect(first.key == NotificationKey(publisherId: 1, uuid: "a") && first.type == "TEST" && first.subtype == nil)
      #expect(first.bundleId == "com.one" && first.reason == "why" && first.time == 1_767_225_600_000)
      #expect(first.environment == "Production" && first.originalTransactionId == nil && first.body == [0x61])
      var filter = all
      filter.limit = 2
      #expect(try await listed(store, filter) == ["a", "b"])
      filter = NotificationStore.AsideFilter(publisher: 2, until: 1_767_225_600_000 + 120_000, limit: 100)
      #expect(try await listed(store, filter) == ["c"])
      #expect(try await listed(store, .init(app: "com.two", limit: 100)) == ["b"])
      let second = try await listed(store, .init(publisher: 2, limit: 100))
      #expect(try await listed(store, .init(publishers: [2, 9], limit: 100)) == second && !second.isEmpty)
      #expect(try await listed(store, .init(publishers: [], limit: 100)) == [])
      #expect(try await listed(store, .init(uuid: "d", limit: 100)) == ["d"])
      #expect(try await listed(store, .init(uuid: "open", limit: 100)) == [])
    }
  }

  @Test func `what is brought back is taken again, what is given up is gone, and the same commit says who did it`()
    async throws
  {
    try await with { store, ledger in
      let audit = OperatorAudit(ledger, name: "kim")
      let keys = try await store.listPutAside(all).map(\.key)
      let open = NotificationKey(publisherId: 1, uuid: "open")
      let back = audit.entries("dead.retried", "notifications", of: [1, 2], filter: Array("{}".utf8))
      #expect(try await store.bringBack([keys[0], keys[2], open], back) == 2)
      // A second time there is nothing to do.
      #expect(try await store.bringBack([keys[0]], []) == 0)
      let gone = audit.entries("dead.buried", "notifications", of: [1], filter: Array(#"{"id":"b"}"#.utf8))
      #expect(try await store.giveUp([keys[1], keys[0]], gone) == 1)
      #expect(try await listed(store, all) == ["d"])
      #expect(try await ledger.texts("SELECT uuid FROM notifications ORDER BY uuid") == ["a", "c", "d", "open"])
      try await ledger.execute("UPDATE notifications SET due_at = now() - interval '1 day' WHERE due_at IS NOT NULL")
      #expect(Set(try await store.takeOverdue(of: [1, 2], limit: 10)) == [keys[0], keys[2], open])
      #expect(
        try await ledger.texts(
          "SELECT publisher_id || ' ' || actor || ' ' || action || ' ' || convert_from(detail, 'UTF8') FROM audit ORDER BY id"
        )
          == [
            #"1 operator:kim dead.retried {"count":1,"filter":{}}"#,
            #"2 operator:kim dead.retried {"count":1,"filter":{}}"#,
            #"1 operator:kim dead.buried {"count":1,"filter":{"id":"b"}}"#,
          ])
    }
  }

  @Test func `the audit log has a row for each publisher, and a publisher does not see who the operator is`()
    async throws
  {
    try await LedgerDatabase.migrated { ledger async throws in
      let audit = OperatorAudit(ledger, name: "kim:x")
      try await audit.note("dead.buried", "jobs", of: [], filter: [])
      try await audit.note("dead.buried", "jobs", of: [7, nil, 7, 9], filter: Array("{}".utf8))
      #expect(
        try await ledger.texts("SELECT publisher_id || ' ' || convert_from(detail, 'UTF8') FROM audit ORDER BY id")
          == [#"0 {"count":1,"filter":{}}"#, #"7 {"count":2,"filter":{}}"#, #"9 {"count":1,"filter":{}}"#])
      #expect(try await ledger.texts("SELECT DISTINCT actor FROM audit") == ["operator:kim:x"])
      let page = try await AuditLog(ledger).entries(7, before: nil, limit: 10)
      let seen = String(decoding: page.entries.first?.json ?? [], as: UTF8.self)
      #expect(seen.contains(#""actor":"operator""#) && !seen.contains("kim") && !seen.contains("token"))
      #expect(seen.contains(#""subject":"jobs""#))
    }
  }

  @Test(arguments: [("", false), ("kim", true), ("a b:c é", true), ("a\nb", false), ("a\u{7f}", false)])
  func `an operator's name is a short text without control characters`(name: String, isGood: Bool) {
    #expect((OperatorAudit.defect(ofName: name) == nil) == isGood)
    #expect(OperatorAudit.defect(ofName: String(repeating: "x", count: 101)) != nil)
  }

  @Test func `the ledger tells when customers were erased, by their hashes`() async throws {
    try await LedgerDatabase.migrated { ledger async throws in
      let store = CustomerStore(ledger)
      _ = try await store.put(1, Customer(id: "jo"))
      _ = try await store.erase(1, "jo", now: 5000)
      _ = try await store.erase(2, "never-seen", now: 6000)
      let asked = [(1, "jo"), (2, "jo"), (2, "never-seen"), (1, "other")].map {
        CustomerKey(publisherId: PublisherId($0.0), id: CustomerId($0.1))
      }
      #expect(try await store.erasureTimes(asked) == [asked[0]: .max, asked[2]: .max])
      // Who comes back is another customer from then on.
      _ = try await store.put(1, Customer(id: "jo"))
      _ = try await store.put(2, Customer(id: "jo"))
      #expect(try await store.erasureTimes(asked) == [asked[0]: 5000, asked[2]: .max])
      #expect(try await store.erasureTimes([]) == [:])
    }
  }
}
