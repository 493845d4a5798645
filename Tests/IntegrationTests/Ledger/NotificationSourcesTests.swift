import Domain
import EventLoop
import Fleets
import Ledger
import Postgres
import ServerSupport
import Testing

/// How far Notification History was read, and who reads it.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct NotificationSourcesTests {
  private static let app = NotificationSource.Key(
    publisherId: 1, bundleId: "com.example.app", environment: .production)

  private func state(_ sources: NotificationSources) async throws -> NotificationSources.State {
    try #require(try await sources.states(of: [Self.app]).first)
  }

  /// Lets a source's reading be older than it is.
  private func age(_ ledger: PostgresClient, by seconds: Int) async throws {
    try await ledger.execute(
      "UPDATE notification_sources SET reading_at = reading_at - interval '\(seconds) seconds'")
  }

  @Test func `an app without a row is free, and one reader takes it`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let sources = NotificationSources(ledger)
      let first = try await state(sources)
      #expect(first.isFree && first.source.readThrough == nil && first.source.lastReceivedAt == nil)
      #expect(try await sources.take(first.source))
      #expect(try await !sources.take(first.source))
      #expect(try await !state(sources).isFree)
      // Another publisher's reading of the same app is its own.
      let other = try #require(
        try await sources.states(of: [.init(publisherId: 2, bundleId: Self.app.bundleId, environment: "Production")])
          .first)
      #expect(other.isFree)
      #expect(try await sources.take(other.source))
    }
  }

  @Test func `a complete reading is kept, and nobody repeats it who saw the state before`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let sources = NotificationSources(ledger)
      let before = try await state(sources).source
      #expect(try await sources.take(before))
      try await sources.complete(before, through: 5_000)
      let after = try await state(sources)
      #expect(after.isFree && after.source.readThrough == 5_000)
      // A sign of life that comes late does not take the source again.
      try await sources.prolong(before)
      #expect(try await state(sources).isFree)
      #expect(try await !sources.take(before))
      #expect(try await sources.take(after.source))
      // A slow reader, whose lease has ended, takes nothing back.
      try await sources.complete(before, through: 4_000)
      #expect(try await state(sources).source.readThrough == 5_000)
    }
  }

  @Test func `a reading whose worker died goes to another one after the lease`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let sources = NotificationSources(ledger)
      let source = try await state(sources).source
      #expect(try await sources.take(source))
      // The lease is 30 s. A busy machine may spend some of the other seconds.
      try await age(ledger, by: 16)
      #expect(try await !sources.take(source))
      try await sources.prolong(source)
      try await age(ledger, by: 16)
      #expect(try await !sources.take(source))
      try await age(ledger, by: 16)
      #expect(try await state(sources).isFree)
      #expect(try await sources.take(source))
    }
  }

  @Test func `a source that was given back waits for its pause`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let sources = NotificationSources(ledger)
      let source = try await state(sources).source
      #expect(try await sources.take(source))
      try await sources.giveBack(source, pause: .seconds(3600))
      // A busy machine may spend some of the other seconds.
      try await age(ledger, by: 3500)
      #expect(try await !state(sources).isFree)
      #expect(try await !sources.take(source))
      try await age(ledger, by: 200)
      #expect(try await sources.take(source))
      try await sources.giveBack(source, pause: .zero)
      try await age(ledger, by: 1)
      #expect(try await sources.take(source))
    }
  }

  @Test func `what was read in the history does not show that Apple reaches us`() async throws {
    try await LedgerDatabase.migrated { ledger in
      let (sources, store) = (NotificationSources(ledger), NotificationStore(ledger))
      func keep(
        _ uuid: NotificationUUID, _ source: KeptNotification.Source, forwards: [EndpointId] = []
      ) async throws -> Int {
        try await store.keep([
          KeptNotification(
            publisherId: 1, uuid: uuid, type: "TEST", environment: "Production", bundleId: Self.app.bundleId,
            signedDate: 1, source: source, body: [1]
          ).forwarded(to: forwards)
        ]).count
      }
      #expect(try await keep("a", .history) == 1)
      #expect(try await state(sources).source.lastReceivedAt == nil)
      #expect(try await keep("b", .apple) == 1)
      let posted = try #require(try await state(sources).source.lastReceivedAt)
      try await ledger.execute("UPDATE notification_sources SET last_received_at = now() - interval '50 hours'")
      #expect(try await keep("c", .history) == 1)
      #expect(try #require(try await state(sources).source.lastReceivedAt) < posted)
      #expect(try await keep("d", .apple) == 1)
      let source = try await state(sources).source
      #expect(try #require(source.longestSilence) >= 50 * 3_600_000)
      // Nor does a body show it that somebody has and posts again.
      try await ledger.execute("UPDATE notification_sources SET last_received_at = now() - interval '60 hours'")
      let silent = try await state(sources).source
      #expect(try await keep("d", .apple) == 0)
      #expect(try await keep("a", .apple) == 0)
      let after = try await state(sources).source
      #expect(after.lastReceivedAt == silent.lastReceivedAt && after.longestSilence == silent.longestSilence)
      #expect(try await keep("e", .apple, forwards: ["fwd_a"]) == 1)
      #expect(try #require(try await state(sources).source.lastReceivedAt) >= posted)
    }
  }
}
