import Domain
import EventLoop
import Fleets
import Formats
import Ledger
import ServerSupport
import Testing

/// Notifications that are put aside since workers died of them.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct PutAsideTests {
  private func key(_ uuid: NotificationUUID) -> NotificationKey { NotificationKey(publisherId: 1, uuid: uuid) }

  @Test func `nobody takes what is put aside until a person brings it back`() async throws {
    try await LedgerDatabase.migrated { ledger async throws in
      let store = NotificationStore(ledger)
      _ = try await store.keep(
        (["a", "b", "c"] as [NotificationUUID]).map {
          KeptNotification(
            publisherId: 1, uuid: $0, type: "TEST", environment: "Production", bundleId: "app", signedDate: 1,
            source: .apple, body: [0x61])
        })
      try await store.finish([key("c")], now: 1)
      // Another publisher of the app has the same notification, and a third one is not meant.
      for publisher in [PublisherId(2), 3] {
        _ = try await store.keep([
          KeptNotification(
            publisherId: publisher, uuid: "a", type: "TEST", environment: "Production", bundleId: "app", signedDate: 1,
            source: .apple, body: [0x61])
        ])
      }
      let aside = try await store.putAside(["a": "why", "c": "too late"], of: [1, 2])
      #expect(Set(aside) == [key("a"), NotificationKey(publisherId: 2, uuid: "a")])
      let others = try await ledger.execute("DELETE FROM notifications WHERE publisher_id > 1 RETURNING due_at")
      #expect(others.count == 2)
      #expect(try await store.countPutAside() == 1)
      try await ledger.execute("UPDATE notifications SET due_at = now() - interval '1 day' WHERE due_at IS NOT NULL")
      #expect(try await store.open([key("a"), key("b"), key("c")]).keys.map(\.uuid.text) == ["b"])
      #expect(try await store.takeOverdue(of: [1], limit: 10) == [key("b")])
      // Nor does a worker that read it before.
      try await store.putOff([key("a")])
      #expect(try await store.putAside(["a": "again"], of: [1]).isEmpty)
      let kept = try await ledger.execute(
        "SELECT 1 FROM notifications WHERE put_aside_reason = 'why' AND due_at IS NULL AND applied_at IS NULL")
      #expect(kept.count == 1)

      // docs/operate/runbooks/put-aside.md
      _ = try await ledger.execute(
        """
        UPDATE notifications SET put_aside_at = NULL, put_aside_reason = NULL, due_at = now() - interval '1 second'
        WHERE publisher_id = 1 AND uuid = 'a' AND put_aside_at IS NOT NULL
        """)
      #expect(try await store.takeOverdue(of: [1], limit: 10) == [key("a")])
      #expect(try await store.open([key("a")]).count == 1)
      #expect(try await store.countPutAside() == 0)
    }
  }
}
