import Domain
import EventLoop
import Fleets
import Formats
import Ledger
import Postgres
import ServerSupport
import TestSupport
import Testing

/// Reading events by pull while others commit, on a real ledger.
@Suite(
  .sharingServers, .enabled(if: TestServers.current != nil, .init(rawValue: TestServers.hint)), .timeLimit(.minutes(30))
)
@LoopActor
struct EventFeedTests {
  private struct Abandoned: Error {}

  private static func event(
    _ id: String, of publisher: PublisherId = 1, topic: EventTopic = EventTopic.entitlementsChanged,
    version: Int64? = nil,
    at time: Int64 = 1_700_000_000_000, bytes: Int = 2, customer: CustomerId? = "me"
  ) -> Event {
    Event(
      id: EventId("evt_" + id), publisherId: publisher, customerId: customer, topic: topic, version: version,
      time: time, body: Array("{}".utf8) + [UInt8](repeating: 32, count: bytes - 2))
  }

  /// Runs a body with a migrated ledger, and a client of some connections.
  private func with(
    connections: Int = 4, _ body: @LoopActor (PostgresClient) async throws -> Void
  ) async throws {
    try await LedgerDatabase.with(isMigrated: true) { endpoint in
      try await LedgerDatabase.client(endpoint, connections: connections, body)
    }
  }

  /// Waits until no transaction holds an event back that is there. Those of other tests' databases do, too.
  private func settle(_ client: PostgresClient) async throws {
    try await eventually("nobody holds events back") {
      try await client.texts(
        """
        SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= coalesce(max(horizon), 0)
          OR max(horizon) > pg_snapshot_xmax(pg_current_snapshot())::text::bigint)::text FROM events
        """) == ["true"]
    }
  }

  private func page(
    _ client: PostgresClient, _ wish: EventFeed.Wish, isSettled: Bool = true
  ) async throws -> EventPage {
    if isSettled { try await settle(client) }
    let answer = try await EventFeed(client).read(wish)
    guard case .page(let page) = answer else {
      Issue.record("refused: \(answer)")
      throw Abandoned()
    }
    return page
  }

  private func tell(_ client: PostgresClient, _ events: Event...) async throws {
    _ = try await EventWriter(client).write(events, audience: []).takeEvents()
  }

  /// Reads until nothing is left.
  private func rest(_ client: PostgresClient, _ wish: EventFeed.Wish) async throws -> (ids: [String], EventPage) {
    var (wish, ids) = (wish, [String]())
    while true {
      let page = try await page(client, wish)
      ids += page.events.map { String($0.id.text.dropFirst(4)) }
      wish.after = page.next
      if !page.hasMore, page.events.isEmpty { return (ids, page) }
    }
  }

  /// A transaction that stays open until a test lets it end.
  @LoopActor
  private final class OpenTransaction {
    private let end = Mailbox<Bool>(of: "the end of a transaction")
    private let begun = Mailbox<Bool>(of: "the beginning of a transaction")
    private var task: Task<Void, any Error>?

    init(
      _ client: PostgresClient, _ steps: @escaping @LoopActor (PostgresTransaction) async throws -> Void
    ) async throws {
      let (begun, end) = (begun, end)
      task = Task { @LoopActor in
        try await client.transaction { transaction in
          try await steps(transaction)
          begun.put(true)
          guard try await end.wait(for: 1)[0] else { throw Abandoned() }
          _ = try await transaction.commit([])
        }
      }
      _ = try await begun.wait(for: 1)
    }

    func commit() async throws {
      end.put(true)
      try await task?.value
    }

    func rollBack() async {
      end.put(false)
      try? await task?.value
    }
  }

  @Test func `a later commit does not let a reader pass an earlier one that is still open`() async throws {
    try await with { client in
      let open = try await OpenTransaction(client) { transaction in
        _ = try await transaction.query(Event.tell([Self.event("1")], audience: []))
      }
      try await tell(client, Self.event("2"))
      try await tell(client, Self.event("3"))
      var page = try await page(client, EventFeed.Wish(1), isSettled: false)
      // Held back, and not lost.
      #expect(page.events.isEmpty && !page.hasMore)
      let reader = EventFeed.Reader(publisherId: 1, position: page.next.position)
      #expect(try await EventFeed(client).ready([reader]) == [])
      try await open.commit()
      try await settle(client)
      #expect(try await EventFeed(client).ready([.init(publisherId: 9, position: .start), reader]) == [1])
      page = try await self.page(client, EventFeed.Wish(1, after: page.next))
      #expect(Set(page.events.map(\.id.text)) == ["evt_1", "evt_2", "evt_3"])
      #expect(try await self.page(client, EventFeed.Wish(1, after: page.next)).events.isEmpty)
    }
  }

  @Test func `an event that is written late into an early transaction is not passed either`() async throws {
    try await with { client in
      let late = Mailbox<Bool>(of: "a late step")
      let written = Mailbox<Bool>(of: "a late event")
      try await client.execute("CREATE TABLE marks (id integer)")
      let early = Task { @LoopActor in
        try await client.transaction { transaction in
          // From here on the transaction has a number.
          _ = try await transaction.query(PostgresQuery(PostgresStatement("mark", "INSERT INTO marks VALUES (1)")))
          written.put(false)
          _ = try await late.wait(for: 1)
          _ = try await transaction.query(Event.tell([Self.event("late")], audience: []))
          written.put(true)
          _ = try await late.wait(for: 2)
          _ = try await transaction.commit([])
        }
      }
      _ = try await written.wait(for: 1)
      try await tell(client, Self.event("1"))
      let first = try await page(client, EventFeed.Wish(1), isSettled: false)
      late.put(true)
      _ = try await written.wait(for: 2)
      try await tell(client, Self.event("2"))
      let second = try await page(client, EventFeed.Wish(1, after: first.next), isSettled: false)
      late.put(true)
      try await early.value
      let third = try await page(client, EventFeed.Wish(1, after: second.next))
      let ids = (first.events + second.events + third.events).map(\.id.text)
      #expect(ids.sorted() == ["evt_1", "evt_2", "evt_late"])
    }
  }

  @Test func `a rolled-back event is never read, and holds nobody back then`() async throws {
    try await with { client in
      let open = try await OpenTransaction(client) { transaction in
        _ = try await transaction.query(Event.tell([Self.event("1")], audience: []))
      }
      try await tell(client, Self.event("2"))
      await open.rollBack()
      #expect(try await rest(client, EventFeed.Wish(1)).ids == ["2"])
    }
  }

  /// The second transaction has the smaller number, since it began first. It changes the key after the other's commit.
  @Test func `of two commits that waited for one lock, the first one's event comes first`() async throws {
    try await with { client in
      try await client.execute("CREATE TABLE keys (id integer PRIMARY KEY)")
      try await client.execute("INSERT INTO keys VALUES (1), (2)")
      func lock(_ id: Int) -> PostgresQuery {
        PostgresQuery(PostgresStatement("lock \(id)", "SELECT 1 FROM keys WHERE id = \(id) FOR UPDATE"))
      }
      let (one, two) = (lock(1), lock(2))
      let goOn = Mailbox<Bool>(of: "a step")
      let begun = Mailbox<Bool>(of: "a beginning")
      let second = Task { @LoopActor in
        try await client.transaction { transaction in
          _ = try await transaction.query(one)
          begun.put(true)
          _ = try await goOn.wait(for: 1)
          _ = try await transaction.query(two)
          _ = try await transaction.commit(Event.tell([Self.event("a", version: 2)], audience: []))
        }
      }
      _ = try await begun.wait(for: 1)
      _ = try await client.transaction { transaction in
        _ = try await transaction.query(two)
        _ = try await transaction.commit(Event.tell([Self.event("b", version: 1)], audience: []))
      }
      goOn.put(true)
      try await second.value
      #expect(try await rest(client, EventFeed.Wish(1)).ids == ["b", "a"])
    }
  }

  /// Transactions of ten connections begin, write, wait, commit and roll back as they like, while a reader reads on.
  @Test func `no cursor skips an event, however commits overlap`() async throws {
    try await with(connections: 12) { client in
      try await client.execute("CREATE TABLE keys (id integer PRIMARY KEY, version bigint NOT NULL)")
      try await client.execute("INSERT INTO keys SELECT n, 0 FROM generate_series(0, 3) n")
      let raise = PostgresStatement(
        "raise", "UPDATE keys SET version = version + 1 WHERE id = $1 RETURNING version")
      let nothing = PostgresQuery(PostgresStatement("nothing", "SELECT txid_current()"))
      let state = Overlap()
      let writers = (0..<10).map { writer in
        Task { @LoopActor in
          var random = SeededRandom(seed: UInt64(writer + 1))
          for round in 0..<60 {
            let key = Int32(Int.random(in: 0..<4, using: &random))
            let (early, late) = (Int.random(in: 0..<6, using: &random), Int.random(in: 0..<6, using: &random))
            let isAbandoned = Int.random(in: 0..<6, using: &random) == 0
            do {
              let told = try await client.transaction { transaction in
                for _ in 0..<early { _ = try await transaction.query(nothing) }
                let version = try await transaction.query(PostgresQuery(raise, [.int32(key)]))[0].int64("version")
                let id = "\(writer).\(round)"
                _ = try await transaction.query(
                  Event.tell([Self.event("\(key)|\(id)", version: version)], audience: []))
                for _ in 0..<late { _ = try await transaction.query(nothing) }
                if isAbandoned { throw Abandoned() }
                _ = try await transaction.commit([])
                return "\(key)|\(id)"
              }
              state.committed.insert(told)
            } catch is Abandoned {}
          }
          state.running -= 1
        }
      }
      state.running = writers.count
      var (cursor, events, pages) = (EventCursor?.none, [Event](), 0)
      while true {
        let isLast = state.running == 0
        let page = try await page(client, EventFeed.Wish(1, after: cursor, limit: 7), isSettled: isLast)
        cursor = page.next
        events += page.events
        if !page.events.isEmpty { pages += 1 }
        if isLast, page.events.isEmpty, !page.hasMore { break }
      }
      for writer in writers { try await writer.value }
      let ids = events.map { String($0.id.text.dropFirst(4)) }
      #expect(Set(ids) == state.committed)
      #expect(ids.count == state.committed.count && ids.count > 400 && pages > 50)
      for key in 0..<4 {
        let versions = events.filter { $0.id.text.hasPrefix("evt_\(key)|") }.compactMap(\.version)
        #expect(versions == versions.sorted() && Set(versions).count == versions.count, "key \(key)")
      }
    }
  }

  @LoopActor
  private final class Overlap {
    var committed: Set<String> = []
    var running = 0
  }

  @Test func `a page has the wanted events of one publisher, as many as fit`() async throws {
    try await with { client in
      for number in 1...6 {
        let topic = number.isMultiple(of: 2) ? EventTopic.purchaseUpdated : EventTopic.entitlementsChanged
        try await tell(
          client, Self.event("\(number)", topic: topic, at: 1_700_000_000_000 + Int64(number), bytes: 60_000))
      }
      try await tell(client, Self.event("other", of: 2), Self.event("test", topic: EventTopic.test))
      #expect(try await rest(client, EventFeed.Wish(1, limit: 4)).ids == ["1", "2", "3", "4", "5", "6"])
      #expect(try await rest(client, EventFeed.Wish(2)).ids == ["other"])
      #expect(try await rest(client, EventFeed.Wish(3)).ids == [])
      let topics = [EventTopic.purchaseUpdated, EventTopic.refundRequested]
      #expect(try await rest(client, EventFeed.Wish(1, topics: topics, limit: 1)).ids == ["2", "4", "6"])
      #expect(try await rest(client, EventFeed.Wish(1, topics: ["'"])).ids == [])
      #expect(try await rest(client, EventFeed.Wish(1, since: 1_700_000_000_005)).ids == ["5", "6"])
      // A page ends before the event that would be too much.
      for number in 7...12 { try await tell(client, Self.event("\(number)", bytes: 60_000)) }
      let page = try await page(client, EventFeed.Wish(1, limit: 250))
      #expect(page.events.count == EventFeed.mostBytes / 60_000 && page.hasMore)
      #expect(page.events[0] == Self.event("1", at: 1_700_000_000_001, bytes: 60_000))
    }
  }

  @Test func `a page looks at a limited number of events`() async throws {
    try await with { client in
      let window = EventFeed.window
      try await client.execute(
        """
        INSERT INTO events (id, publisher_id, customer_id, topic, time, body)
        SELECT 'evt_' || n, 1, 'me', CASE n WHEN \(window + 1) THEN 'rare' ELSE 'often' END, now(), '{}'
        FROM generate_series(1, \(window + 1)) n
        """)
      let page = try await page(client, EventFeed.Wish(1, topics: ["rare"]))
      #expect(page.events.isEmpty && page.hasMore)
      #expect(try await rest(client, EventFeed.Wish(1, topics: ["rare"])).ids == ["\(window + 1)"])
    }
  }

  @Test func `a cursor before deleted events is refused, and one behind them goes on`() async throws {
    try await with { client in
      try await tell(client, Self.event("1"))
      let first = try await page(client, EventFeed.Wish(1)).next
      try await tell(client, Self.event("2"))
      let second = try await page(client, EventFeed.Wish(1)).next
      try await client.execute("DELETE FROM outbox")
      let retention = Retention(client)
      #expect(try await retention.deleteOldest(synchronizations: .zero, events: .zero, limit: 1) == 1)
      // The cursor stands at what is gone, and not before it.
      #expect(try await rest(client, EventFeed.Wish(1, after: first)).ids == ["2"])
      try await tell(client, Self.event("owed"))
      try await client.execute("DELETE FROM outbox WHERE event_id <> 'evt_owed'")
      #expect(try await retention.deleteOldest(synchronizations: .zero, events: .zero, limit: 10) == 1)
      try await tell(client, Self.event("3"))
      #expect(try await EventFeed(client).read(EventFeed.Wish(1, after: first)) == .refused(.deleted))
      #expect(try await rest(client, EventFeed.Wish(1, after: second)).ids == ["owed", "3"])
      #expect(try await rest(client, EventFeed.Wish(1)).ids == ["owed", "3"])
      // The beginning is not refused either, when everything is gone.
      try await client.execute("DELETE FROM outbox")
      #expect(try await retention.deleteOldest(synchronizations: .zero, events: .zero, limit: 10) == 2)
      let empty = try await page(client, EventFeed.Wish(1))
      try await tell(client, Self.event("4"))
      #expect(try await rest(client, EventFeed.Wish(1, after: empty.next)).ids == ["4"])
    }
  }

  @Test func `an erased customer's events are not read any more, and neither are those of nobody`() async throws {
    try await with { client in
      try await tell(client, Self.event("1"), Self.event("2", customer: "you"), Self.event("3", customer: nil))
      try await tell(client, Self.event("4", topic: EventTopic.webhookEndpointDisabled, customer: nil))
      #expect(try await rest(client, EventFeed.Wish(1)).ids == ["1", "2", "4"])
      _ = try await CustomerStore(client).erase(1, "me", now: 1_700_000_000_000)
      // It stays in the ledger until it is published, and nobody finds it by pull.
      #expect(try await client.texts("SELECT count(*)::text FROM events") == ["4"])
      #expect(try await rest(client, EventFeed.Wish(1)).ids == ["2", "4"])
    }
  }

  @Test func `a cursor of another history is refused, and one of another publisher`() async throws {
    try await with { client in
      try await tell(client, Self.event("1"), Self.event("2", of: 2))
      let cursor = try await page(client, EventFeed.Wish(1)).next
      let other = EventCursor(history: cursor.history &+ 1, position: cursor.position)
      #expect(try await EventFeed(client).read(EventFeed.Wish(1, after: other)) == .refused(.otherHistory))
      #expect(try await EventFeed(client).read(EventFeed.Wish(2, after: cursor)) == .refused(.otherHistory))
      let future = EventCursor(history: cursor.history, position: EventPosition(horizon: .max, place: .max))
      #expect(try await EventFeed(client).read(EventFeed.Wish(1, after: future)) == .refused(.otherHistory))
    }
  }

  /// As after a dump of a server whose transactions have greater numbers.
  @Test func `after a restore into another server, migrate puts the restored events first`() async throws {
    try await with { client in
      try await tell(client, Self.event("a1"))
      try await tell(client, Self.event("a2"))
      try await client.execute("UPDATE events SET horizon = horizon + 1000000000")
      try await client.execute("INSERT INTO event_floors VALUES (1, 900, 1), (2, 2000000000, 1), (3, 4, 1)")
      try await tell(client, Self.event("b1"))
      #expect(try await EventFeed(client).read(EventFeed.Wish(1)) == .refused(.ledgerNotReady))
      #expect(try await EventFeed(client).read(EventFeed.Wish(2)) == .refused(.ledgerNotReady))
      #expect(try await EventFeed(client).adoptRestored() == 2)
      #expect(try await rest(client, EventFeed.Wish(1)).ids == ["a1", "a2", "b1"])
      #expect(try await rest(client, EventFeed.Wish(2)).ids == [])
      #expect(try await client.texts("SELECT publisher_id::text FROM event_floors") == ["3"])
      #expect(try await EventFeed(client).adoptRestored() == 0)
    }
  }

  @Test func `a build that does not know the positions writes them all the same`() async throws {
    try await with { client in
      let all = try await client.texts(
        """
        INSERT INTO events (id, publisher_id, customer_id, topic, time, body)
        SELECT 'evt_' || n, 1, 'me', 't', now(), '{}' FROM generate_series(1, 3) n
        RETURNING (horizon > pg_current_xact_id()::text::bigint AND place > 0)::text
        """)
      #expect(all == ["true", "true", "true"])
      #expect(try await rest(client, EventFeed.Wish(1)).ids == ["1", "2", "3"])
    }
  }
}
